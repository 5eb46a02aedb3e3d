// Reassign {current_customer_name} to {assigned_to_first_name} in the crm
const { Customer } = SDK.Entities;
const args = SDK.args;

// The customer of a name, null where there is none, or more than one.
function customerCalled(name) {
  const found = SDK.Entities.Customer.all({ filter: { name: { $ieq: name } } });
  return found.length === 1 ? found[0] : null;
}

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const assignedToEmail = employeeCalled(args.assigned_to_first_name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.assigned_to_first_name}.`);

const customer = customerCalled(args.current_customer_name);
if (!customer) return SDK.Out.answer(`It is not clear who ${args.current_customer_name} is.`);
Customer.patch(customer.id, { assignedToEmail });

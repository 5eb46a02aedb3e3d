// Add {new_customer_name} as a new lead in the crm and assign them to {assigned_to_first_name}
const { Customer } = SDK.Entities;
const args = SDK.args;

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const assignedToEmail = employeeCalled(args.assigned_to_first_name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.assigned_to_first_name}.`);

Customer.upsert({ name: args.new_customer_name, assignedToEmail, status: "Lead" });

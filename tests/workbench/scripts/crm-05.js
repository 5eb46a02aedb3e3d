// Reassign all of {assigned_to_first_name}'s leads that are interested in {natural_language_product_interest}
// to {new_assigned_to_first_name} in the crm.
const { Customer } = SDK.Entities;
const args = SDK.args;

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1).toLowerCase();

const from = employeeCalled(args.assigned_to_first_name);
const to = employeeCalled(args.new_assigned_to_first_name);
if (!from || !to) return SDK.Out.answer("One of them does not work here.");
const filter = { assignedToEmail: from, status: "Lead", productInterest: capital(args.natural_language_product_interest) };
SDK.Out.answer(Customer.updateByQuery(filter, { assignedToEmail: to }));

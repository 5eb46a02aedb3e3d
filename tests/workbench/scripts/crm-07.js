// Delete all of {assigned_to_first_name}'s customers that are in the {new_status_natural_language} stage and
// interested in {natural_language_product_interest} in the crm
const { Customer } = SDK.Entities;
const args = SDK.args;

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1).toLowerCase();

const assignedToEmail = employeeCalled(args.assigned_to_first_name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.assigned_to_first_name}.`);

const status = capital(args.new_status_natural_language);
const productInterest = capital(args.natural_language_product_interest);
SDK.Out.answer(Customer.deleteByQuery({ assignedToEmail, status, productInterest }));

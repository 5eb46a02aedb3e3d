// Update the status of {current_customer_name} to {new_status_natural_language} in the crm
const { Customer } = SDK.Entities;
const args = SDK.args;

const capital = (text) => text[0].toUpperCase() + text.slice(1).toLowerCase();

const status = capital(args.new_status_natural_language);
SDK.Out.answer(Customer.updateByQuery({ name: args.current_customer_name }, { status }));

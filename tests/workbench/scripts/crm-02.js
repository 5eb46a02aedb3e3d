// Delete {current_customer_name} from the crm
const { Customer } = SDK.Entities;
const args = SDK.args;

SDK.Out.answer(Customer.deleteByQuery({ name: args.current_customer_name }));

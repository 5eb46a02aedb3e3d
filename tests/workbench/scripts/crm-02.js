// Delete {current_customer_name} from the crm
const { Customer } = SDK.Entities;
const args = SDK.args;

// The customer of a name, null where there is none, or more than one.
function customerCalled(name) {
  const found = SDK.Entities.Customer.all({ filter: { name: { $ieq: name } } });
  return found.length === 1 ? found[0] : null;
}

const customer = customerCalled(args.current_customer_name);
if (!customer) return SDK.Out.answer(`It is not clear who ${args.current_customer_name} is.`);
Customer.delete(customer.id);

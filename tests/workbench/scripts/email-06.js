// Forward the latest email about '{subject}' to {recipient_name}
const { Email } = SDK.Entities;
const args = SDK.args;

// The address of somebody by first name: an employee, else a customer. Null where nobody,
// or more than one, has the name.
function addressOf(name) {
  const filter = { email: { $startsWith: `${name.toLowerCase()}.` } };
  const found = SDK.Entities.Employee.all({ filter });
  const people = found.length ? found : SDK.Entities.Customer.all({ filter });
  return people.length === 1 ? people[0].email : null;
}

// The last mail that came in and fits.
const latest = (filter) => Email.firstPage(1, { filter: { box: "inbox", ...filter }, sort: "-sentAt" }).items[0];

const address = addressOf(args.recipient_name);
if (!address) return SDK.Out.answer(`It is not clear who ${args.recipient_name} is.`);
const mail = latest({ subject: { $icontains: args.subject } });
if (!mail) return SDK.Out.answer("There is no such mail.");
Email.upsert({ box: "outbox", address, subject: `FW: ${mail.subject}`, body: mail.body });

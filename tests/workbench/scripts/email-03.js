// Send an email to {name} saying '{body}' and title it '{subject}'
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

const address = addressOf(args.name);
if (!address) return SDK.Out.answer(`It is not clear who ${args.name} is.`);

// Line breaks are written out in the request.
Email.upsert({ box: "outbox", address, subject: args.subject, body: args.body.replaceAll("\\n", "\n") });

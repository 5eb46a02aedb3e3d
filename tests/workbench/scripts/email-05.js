// Forward all the emails from {name} last week about '{subject}' to {recipient_name}
const { Email } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// The address of somebody by first name: an employee, else a customer. Null where nobody,
// or more than one, has the name.
function addressOf(name) {
  const filter = { email: { $startsWith: `${name.toLowerCase()}.` } };
  const found = SDK.Entities.Employee.all({ filter });
  const people = found.length ? found : SDK.Entities.Customer.all({ filter });
  return people.length === 1 ? people[0].email : null;
}

const address = addressOf(args.recipient_name);
if (!address) return SDK.Out.answer(`It is not clear who ${args.recipient_name} is.`);

// Last week is the one before this one; weeks begin on Monday.
const monday = today - ((new Date(today).getUTCDay() + 6) % 7) * DAY;
const sentAt = { $gte: new Date(monday - 7 * DAY), $lt: new Date(monday) };
const filter = { box: "inbox", address: addressOf(args.name) ?? "", subject: { $icontains: args.subject }, sentAt };
const mails = Email.all({ filter, sort: "sentAt" });
Email.upsertMany(mails.map(({ subject, body }) => ({ box: "outbox", address, subject: `FW: ${subject}`, body })));
SDK.Out.answer(mails.length);

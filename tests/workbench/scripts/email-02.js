// Delete all my emails from {name} from the last {days} days
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

const sentAt = { $gte: new Date(today - Number(args.days) * DAY) };
SDK.Out.answer(Email.deleteByQuery({ box: "inbox", address: addressOf(args.name) ?? "", sentAt }));

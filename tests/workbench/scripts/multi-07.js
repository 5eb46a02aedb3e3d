// If I don't have any meetings scheduled with {name} in the next {days} days, send them an email titled
// 'Catch up soon?' saying 'We have not caught up in a while - can you send some availability over next week?'
const { Email, Event } = SDK.Entities;
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

const address = addressOf(args.name);
if (!address) return SDK.Out.answer(`It is not clear who ${args.name} is.`);

const startsAt = { $gte: new Date(), $lt: new Date(today + Number(args.days) * DAY) };
if (Event.count({ participantEmail: address, startsAt }) > 0) return SDK.Out.answer("You have a meeting.");
const body = "We have not caught up in a while - can you send some availability over next week?";
Email.upsert({ box: "outbox", address, subject: "Catch up soon?", body });

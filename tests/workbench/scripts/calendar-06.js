// Cancel my next meeting with {name}
const { Event } = SDK.Entities;
const args = SDK.args;

// The address of somebody by first name: an employee, else a customer. Null where nobody,
// or more than one, has the name.
function addressOf(name) {
  const filter = { email: { $startsWith: `${name.toLowerCase()}.` } };
  const found = SDK.Entities.Employee.all({ filter });
  const people = found.length ? found : SDK.Entities.Customer.all({ filter });
  return people.length === 1 ? people[0].email : null;
}

const filter = { participantEmail: addressOf(args.name) ?? "", startsAt: { $gte: new Date() } };
const [next] = Event.firstPage(1, { filter, sort: "startsAt" }).items;
if (!next) return SDK.Out.answer(`There is no meeting with ${args.name} to come.`);
Event.delete(next.id);

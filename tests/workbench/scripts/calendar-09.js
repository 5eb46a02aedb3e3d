// Cancel all future meetings with {name}
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

SDK.Out.answer(Event.deleteByQuery({ participantEmail: addressOf(args.name) ?? "", startsAt: { $gte: new Date() } }));

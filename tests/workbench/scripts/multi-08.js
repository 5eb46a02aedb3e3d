// If {name} has any overdue tasks, send them an email titled 'Overdue tasks' saying 'You have a few overdue
// tasks - can you update me on them?'. Otherwise email them with 'Nice work keeping on top of your tasks this
// sprint!' titled 'Good work this sprint'
const { Email, Task } = SDK.Entities;
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
const overdue = Task.count({ assignedToEmail: address, dueDate: { $lt: day(today) }, listName: { $ne: "Completed" } });

const [subject, body] = overdue
  ? ["Overdue tasks", "You have a few overdue tasks - can you update me on them?"]
  : ["Good work this sprint", "Nice work keeping on top of your tasks this sprint!"];
Email.upsert({ box: "outbox", address, subject, body });

// Give all the overdue tasks that {name_1} hasn't started to {name_2}.
const { Task } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const from = employeeCalled(args.name_1);
const to = employeeCalled(args.name_2);
if (!from || !to) return SDK.Out.answer("One of them does not work here.");
const filter = { assignedToEmail: from, listName: "Backlog", dueDate: { $lt: day(today) } };
SDK.Out.answer(Task.updateByQuery(filter, { assignedToEmail: to }));

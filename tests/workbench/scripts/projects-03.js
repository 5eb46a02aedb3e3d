// Move all of {name}'s overdue tasks in the backlog to in progress
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

const assignedToEmail = employeeCalled(args.name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.name}.`);
SDK.Out.answer(Task.updateByQuery({ assignedToEmail, listName: "Backlog", dueDate: { $lt: day(today) } }, { listName: "In Progress" }));

// {name_1} is sick so reassign their in progress tasks to {name_2}.
const { Task } = SDK.Entities;
const args = SDK.args;

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const from = employeeCalled(args.name_1);
const to = employeeCalled(args.name_2);
if (!from || !to) return SDK.Out.answer("One of them does not work here.");
SDK.Out.answer(Task.updateByQuery({ assignedToEmail: from, listName: "In Progress" }, { assignedToEmail: to }));

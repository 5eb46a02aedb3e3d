// Move all of {name}'s tasks that are in progress to in review
const { Task } = SDK.Entities;
const args = SDK.args;

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const assignedToEmail = employeeCalled(args.name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.name}.`);
SDK.Out.answer(Task.updateByQuery({ assignedToEmail, listName: "In Progress" }, { listName: "In Review" }));

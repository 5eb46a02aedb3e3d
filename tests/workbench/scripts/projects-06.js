// {name_1} is on vacation now so move all their unfinished tasks to the backlog.
const { Task } = SDK.Entities;
const args = SDK.args;

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const assignedToEmail = employeeCalled(args.name_1);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.name_1}.`);

// What is in review is finished, as far as they are concerned.
SDK.Out.answer(Task.updateByQuery({ assignedToEmail, listName: "In Progress" }, { listName: "Backlog" }));

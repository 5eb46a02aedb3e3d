// Take {name_1}'s most urgent task and reassign it to {name_2}.
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
// What is in review is finished, as far as they are concerned. Of several that are due on
// one day, one that nobody has started comes first: "Backlog" sorts before "In Progress".
const filter = { assignedToEmail: from, listName: { $in: ["Backlog", "In Progress"] } };
const [urgent] = Task.firstPage(1, { filter, sort: "dueDate,listName" }).items;
if (!urgent) return SDK.Out.answer(`${args.name_1} has nothing to do.`);
Task.patch(urgent.id, { assignedToEmail: to });

// Add a new task to the {board} backlog called {task_name} and assign it to {name}. It's due on
// {natural_language_due_date}.
const { Task } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// The next day that a text such as "December 4" will be; it may be today.
function nextDay(text) {
  const inYear = (year) => Date.parse(`${text}, ${year} UTC`);
  const year = new Date(today).getUTCFullYear();
  return day(inYear(year) >= today ? inYear(year) : inYear(year + 1));
}

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const capital = (text) => text[0].toUpperCase() + text.slice(1).toLowerCase();

const assignedToEmail = employeeCalled(args.name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.name}.`);

Task.upsert({
  name: args.task_name,
  assignedToEmail,
  listName: "Backlog",
  dueDate: nextDay(args.natural_language_due_date),
  board: capital(args.board),
});

// Book a half-hour meeting with {name} called 'Catch up on overdue tasks' at the earliest time I'm free
// tomorrowif they have any overdue tasks
const { Event, Task } = SDK.Entities;
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

// The first gap of so many minutes in a day's working hours, null where there is none.
function firstFree(date, minutes) {
  const end = Date.parse(`${date}T18:00:00Z`);
  let free = Date.parse(`${date}T09:00:00Z`);
  // An event may have begun on an earlier day.
  const [longest] = SDK.Entities.Event.firstPage(1, { sort: "-durationMinutes" }).items;
  const began = new Date(free - (longest?.durationMinutes ?? 0) * 60e3);
  const filter = { startsAt: { $gt: began, $lt: `${date}T18:00:00Z` } };
  for (const event of SDK.Entities.Event.all({ filter, sort: "startsAt" })) {
    const start = Date.parse(event.startsAt);
    if (start - free >= minutes * 60e3) break;
    free = Math.max(free, start + event.durationMinutes * 60e3);
  }
  return free + minutes * 60e3 <= end ? new Date(free) : null;
}

const participantEmail = addressOf(args.name);
if (!participantEmail) return SDK.Out.answer(`It is not clear who ${args.name} is.`);
const overdue = Task.count({ assignedToEmail: participantEmail, dueDate: { $lt: day(today) }, listName: { $ne: "Completed" } });
if (!overdue) return SDK.Out.answer("They have no overdue tasks.");
const startsAt = firstFree(day(today + DAY), 30);
if (!startsAt) return SDK.Out.answer("There is no free half hour tomorrow.");

Event.upsert({ name: "Catch up on overdue tasks", participantEmail, startsAt, durationMinutes: 30 });

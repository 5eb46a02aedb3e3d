// Push back my first meeting with {name} on {natural_language_date} by {duration}s
const { Event } = SDK.Entities;
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

// The times of a day.
const within = (date) => ({ $gte: `${date}T00:00:00Z`, $lt: day(Date.parse(date) + DAY) + "T00:00:00Z" });

const minutesOf = (text) => parseFloat(text) * (text.includes("hour") ? 60 : 1);

// The address of somebody by first name: an employee, else a customer. Null where nobody,
// or more than one, has the name.
function addressOf(name) {
  const filter = { email: { $startsWith: `${name.toLowerCase()}.` } };
  const found = SDK.Entities.Employee.all({ filter });
  const people = found.length ? found : SDK.Entities.Customer.all({ filter });
  return people.length === 1 ? people[0].email : null;
}

const filter = { participantEmail: addressOf(args.name) ?? "", startsAt: within(nextDay(args.natural_language_date)) };
const [first] = Event.firstPage(1, { filter, sort: "startsAt" }).items;
if (!first) return SDK.Out.answer(`There is no meeting with ${args.name} on that day.`);
Event.patch(first.id, { startsAt: new Date(Date.parse(first.startsAt) + minutesOf(args.duration) * 60e3) });

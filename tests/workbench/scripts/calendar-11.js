// Create a {duration} event called {event_name} on {natural_language_date} at {natural_language_time} with
// {name}
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

// "2:30" is in working hours, which begin at nine: 14:30.
function timeOfDay(text) {
  const [hour, minute = "00"] = text.split(":");
  return `${String(hour < 9 ? Number(hour) + 12 : hour).padStart(2, "0")}:${minute}`;
}

const minutesOf = (text) => parseFloat(text) * (text.includes("hour") ? 60 : 1);

// The address of somebody by first name: an employee, else a customer. Null where nobody,
// or more than one, has the name.
function addressOf(name) {
  const filter = { email: { $startsWith: `${name.toLowerCase()}.` } };
  const found = SDK.Entities.Employee.all({ filter });
  const people = found.length ? found : SDK.Entities.Customer.all({ filter });
  return people.length === 1 ? people[0].email : null;
}

const participantEmail = addressOf(args.name);
if (!participantEmail) return SDK.Out.answer(`It is not clear who ${args.name} is.`);

Event.upsert({
  name: args.event_name,
  participantEmail,
  startsAt: `${nextDay(args.natural_language_date)}T${timeOfDay(args.natural_language_time)}:00Z`,
  durationMinutes: minutesOf(args.duration),
});

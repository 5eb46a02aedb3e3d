// If I haven't met with {name} in the last {duration} days, schedule a 30-minute meeting called 'catch-up'
// for my first free slot from tomorrow
const { Event } = SDK.Entities;
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

const since = new Date(today - Number(args.duration) * DAY);
if (Event.count({ participantEmail, startsAt: { $gte: since, $lt: new Date() } }) > 0) return SDK.Out.answer("You have met.");
let date = today + DAY;
const weekend = () => new Date(date).getUTCDay() % 6 === 0;
let startsAt = null;
for (let days = 0; days < 366 && !startsAt; days++, date += DAY) {
  if (!weekend()) startsAt = firstFree(day(date), 30);
}
if (!startsAt) return SDK.Out.answer("There is no free slot within a year.");
Event.upsert({ name: "catch-up", participantEmail, startsAt, durationMinutes: 30 });

// Cancel my first meeting on {natural_language_date}
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

const [first] = Event.firstPage(1, { filter: { startsAt: within(nextDay(args.natural_language_date)) }, sort: "startsAt" }).items;
if (!first) return SDK.Out.answer("There is no meeting on that day.");
Event.delete(first.id);

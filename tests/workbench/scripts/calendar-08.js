// Cancel my meetings on {next_day} {before_or_after} {natural_language_time}
const { Event } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

// The next such day of the week after today.
function nextWeekday(name) {
  const ahead = (WEEKDAYS.indexOf(name.toLowerCase()) - new Date(today).getUTCDay() + 7) % 7 || 7;
  return day(today + ahead * DAY);
}

// "2:30" is in working hours, which begin at nine: 14:30.
function timeOfDay(text) {
  const [hour, minute = "00"] = text.split(":");
  return `${String(hour < 9 ? Number(hour) + 12 : hour).padStart(2, "0")}:${minute}`;
}

// The times of a day.
const within = (date) => ({ $gte: `${date}T00:00:00Z`, $lt: day(Date.parse(date) + DAY) + "T00:00:00Z" });

const date = nextWeekday(args.next_day);
const time = `${date}T${timeOfDay(args.natural_language_time)}:00Z`;
const side = args.before_or_after === "before" ? { $lt: time } : { $gt: time };
SDK.Out.answer(Event.deleteByQuery({ $and: [{ startsAt: within(date) }, { startsAt: side }] }));

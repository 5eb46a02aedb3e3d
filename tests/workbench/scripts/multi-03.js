// Find the email from {natural_language_email_date} about {subject} and schedule a
// {natural_language_duration} meeting called '{subject}' at {natural_language_time} with the sender for
// {natural_language_event_date}.
const { Email, Event } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// The last day that a text such as "November 21" was.
function lastDay(text) {
  const inYear = (year) => Date.parse(`${text}, ${year} UTC`);
  const year = new Date(today).getUTCFullYear();
  return day(inYear(year) <= today ? inYear(year) : inYear(year - 1));
}

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

// The times of a day.
const within = (date) => ({ $gte: `${date}T00:00:00Z`, $lt: day(Date.parse(date) + DAY) + "T00:00:00Z" });

const filter = { box: "inbox", subject: { $icontains: args.subject }, sentAt: within(lastDay(args.natural_language_email_date)) };
const [mail] = Email.firstPage(1, { filter, sort: "-sentAt" }).items;
if (!mail) return SDK.Out.answer("There is no such mail.");

Event.upsert({
  name: args.subject,
  participantEmail: mail.address,
  startsAt: `${nextDay(args.natural_language_event_date)}T${timeOfDay(args.natural_language_time)}:00Z`,
  durationMinutes: minutesOf(args.natural_language_duration),
});

// If {sender_name} hasn't sent me any emails in the past {days} days, schedule a 30 minute meeting with them
// for {day_of_week} at {natural_language_time} called 'Catch up with {sender_name}'
const { Email, Event } = SDK.Entities;
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

// The address of somebody by first name: an employee, else a customer. Null where nobody,
// or more than one, has the name.
function addressOf(name) {
  const filter = { email: { $startsWith: `${name.toLowerCase()}.` } };
  const found = SDK.Entities.Employee.all({ filter });
  const people = found.length ? found : SDK.Entities.Customer.all({ filter });
  return people.length === 1 ? people[0].email : null;
}

const address = addressOf(args.sender_name);
if (!address) return SDK.Out.answer(`It is not clear who ${args.sender_name} is.`);

const sentAt = { $gte: new Date(today - Number(args.days) * DAY) };
if (Email.count({ box: "inbox", address, sentAt }) > 0) return SDK.Out.answer("They have.");
Event.upsert({
  name: `Catch up with ${args.sender_name}`,
  participantEmail: address,
  startsAt: `${nextWeekday(args.day_of_week)}T${timeOfDay(args.natural_language_time)}:00Z`,
  durationMinutes: 30,
});

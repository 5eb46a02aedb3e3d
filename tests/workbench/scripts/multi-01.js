// If we haven't spoke to {current_customer_name} in the past fortnight book a 30-minute meeting with whoever
// is assigned to them called 'Update on {current_customer_name}' at the first time I'm free tomorrow
const { Event } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// The customer of a name, null where there is none, or more than one.
function customerCalled(name) {
  const found = SDK.Entities.Customer.all({ filter: { name: { $ieq: name } } });
  return found.length === 1 ? found[0] : null;
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

const customer = customerCalled(args.current_customer_name);
if (!customer?.assignedToEmail) return SDK.Out.answer("It is not clear who that customer is, or nobody looks after them.");
if (customer.lastContactDate >= day(today - 14 * DAY)) return SDK.Out.answer(`We spoke to them on ${customer.lastContactDate}.`);

const startsAt = firstFree(day(today + DAY), 30);
if (!startsAt) return SDK.Out.answer("There is no free half hour tomorrow.");

const name = `Update on ${args.current_customer_name}`;
Event.upsert({ name, participantEmail: customer.assignedToEmail, startsAt, durationMinutes: 30 });

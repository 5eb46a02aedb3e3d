// Cancel the next {event_name} meeting
const { Event } = SDK.Entities;
const args = SDK.args;

const same = (a, b) => a.toLowerCase() === b.toLowerCase();

const future = Event.all({ filter: { name: { $icontains: args.event_name }, startsAt: { $gte: new Date() } }, sort: "startsAt" });
const next = future.find((event) => same(event.name, args.event_name));
if (!next) return SDK.Out.answer(`There is no ${args.event_name} to come.`);
Event.delete(next.id);

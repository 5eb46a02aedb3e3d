// Rename the next {event_name} meeting to {new_event_name}
const { Event } = SDK.Entities;
const args = SDK.args;

const filter = { name: { $ieq: args.event_name }, startsAt: { $gte: new Date() } };
const next = Event.firstPage(1, { filter, sort: "startsAt" }).items[0];
if (!next) return SDK.Out.answer(`There is no ${args.event_name} to come.`);
Event.patch(next.id, { name: args.new_event_name });

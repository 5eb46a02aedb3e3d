// Cancel future {event_name} meetings
const { Event } = SDK.Entities;
const args = SDK.args;

const same = (a, b) => a.toLowerCase() === b.toLowerCase();

const future = Event.all({ filter: { name: { $icontains: args.event_name }, startsAt: { $gte: new Date() } } });
const ids = future.filter((event) => same(event.name, args.event_name)).map((event) => event.id);
SDK.Out.answer(Event.deleteMany(ids));

// Cancel future {event_name} meetings
const { Event } = SDK.Entities;
const args = SDK.args;

const filter = { name: { $ieq: args.event_name }, startsAt: { $gte: new Date() } };
const ids = Event.all({ filter, fields: "id" }).map((event) => event.id);
SDK.Out.answer(Event.deleteMany(ids));

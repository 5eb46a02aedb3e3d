# If I haven't met with {name} in the last {duration} days, schedule a 30-minute meeting called 'catch-up'
# for my first free slot from tomorrow
from datetime import datetime, timedelta, timezone

args = SDK.args
now = datetime.now(timezone.utc).replace(microsecond=0)
today = now.date()


def address_of(name):
    """Return the address of somebody by first name: an employee, else a customer. None where nobody, or more than one, has it."""
    filter = {"email": {"$startsWith": name.lower() + "."}}
    people = SDK.Entities.Employee.all(filter=filter) or SDK.Entities.Customer.all(filter=filter)
    return people[0].email if len(people) == 1 else None


def first_free(day, minutes):
    """Return the first gap of so many minutes in a day's working hours, None where there is none."""
    free, end = (datetime(day.year, day.month, day.day, hour, tzinfo=timezone.utc) for hour in (9, 18))
    # An event may have begun on an earlier day.
    longest = SDK.Entities.Event.first_page(1, sort="-durationMinutes").items
    began = free - timedelta(minutes=longest[0].durationMinutes if longest else 0)
    for event in SDK.Entities.Event.all(filter={"startsAt": {"$gt": began, "$lt": end}}, sort="startsAt"):
        start = datetime.fromisoformat(event.startsAt)
        if start - free >= timedelta(minutes=minutes):
            break
        free = max(free, start + timedelta(minutes=event.durationMinutes))
    return free if free + timedelta(minutes=minutes) <= end else None


participant = address_of(args.name)
if participant is None:
    return SDK.Out.answer(f"It is not clear who {args.name} is.")
since = datetime(today.year, today.month, today.day, tzinfo=timezone.utc) - timedelta(days=int(args.duration))
if SDK.Entities.Event.count({"participantEmail": participant, "startsAt": {"$gte": since, "$lt": now}}) > 0:
    return SDK.Out.answer("You have met.")
days = (today + timedelta(days=n) for n in range(1, 367))
starts_at = next((slot for day in days if day.weekday() < 5 and (slot := first_free(day, 30))), None)
if starts_at is None:
    return SDK.Out.answer("There is no free slot within a year.")
SDK.Entities.Event.upsert({"name": "catch-up", "participantEmail": participant, "startsAt": starts_at, "durationMinutes": 30})

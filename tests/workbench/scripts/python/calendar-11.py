# Create a {duration} event called {event_name} on {natural_language_date} at {natural_language_time} with
# {name}
import re
from datetime import datetime, timedelta, timezone

args = SDK.args
today = datetime.now(timezone.utc).date()


def next_day(text):
    """Return the next day that a text such as "December 4" will be; it may be today."""
    years = (datetime.strptime(f"{text} {year}", "%B %d %Y").date() for year in (today.year, today.year + 1))
    return next(day for day in years if day >= today)


def address_of(name):
    """Return the address of somebody by first name: an employee, else a customer. None where nobody, or more than one, has it."""
    filter = {"email": {"$startsWith": name.lower() + "."}}
    people = SDK.Entities.Employee.all(filter=filter) or SDK.Entities.Customer.all(filter=filter)
    return people[0].email if len(people) == 1 else None


def time_of_day(text):
    """Return a time in working hours, which begin at nine: "2:30" is 14:30."""
    hour, _, minute = text.partition(":")
    return f"{int(hour) + (12 if int(hour) < 9 else 0):02}:{minute or '00'}"


def minutes_of(text):
    return int(float(re.match(r"[\d.]+", text).group()) * (60 if "hour" in text else 1))


participant = address_of(args.name)
if participant is None:
    return SDK.Out.answer(f"It is not clear who {args.name} is.")
SDK.Entities.Event.upsert({
    "name": args.event_name,
    "participantEmail": participant,
    "startsAt": f"{next_day(args.natural_language_date)}T{time_of_day(args.natural_language_time)}:00Z",
    "durationMinutes": minutes_of(args.duration),
})

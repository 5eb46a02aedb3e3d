# If {natural_language_metric} was {more_or_less} than {threshold} at any time since {natural_language_date}
# make a backlog task 'Improve {natural_language_metric}' for {name} on the front-end board with a deadline
# of next Friday and schedule a half-hour meeting called 'Discuss {natural_language_metric}' for us at the
# first time I can do tomorrow otherwise send them an email titled '{natural_language_metric}' saying 'I
# noticed {natural_language_metric} has been stable, nice work!'
from collections import Counter
from datetime import datetime, timedelta, timezone
from math import nan

args = SDK.args
today = datetime.now(timezone.utc).date()


def last_day(text):
    """Return the last day that a text such as "November 21" was."""
    years = (datetime.strptime(f"{text} {year}", "%B %d %Y").date() for year in (today.year, today.year - 1))
    return next(day for day in years if day <= today)


VALUES = {"total visits": "total_visits", "average session duration": "session_duration_seconds", "engaged users": "user_engaged"}


def daily(metric, since):
    """Return a metric on each day from one until yesterday. A day without visits has no average (NaN)."""
    visits, seconds, engaged = Counter(), Counter(), Counter()
    filter = {"date": {"$gte": str(since), "$lt": str(today)}}
    for row in SDK.Entities.Visit.aggregate(filter=filter, group_by=["date", "engaged"], count=True, sum="sessionSeconds"):
        visits[row.date] += row.count
        seconds[row.date] += row.sumSessionSeconds
        engaged[row.date] += row.count if row.engaged else 0
    first = SDK.Entities.Visit.first_page(1, sort="date").items
    days = [str(since + timedelta(days=n)) for n in range((today - since).days)]
    days = [d for d in days if first and d >= first[0].date]  # nothing is known of the days before
    if metric == "total visits":
        return [visits[d] for d in days]
    if metric == "engaged users":
        return [engaged[d] for d in days]
    return [seconds[d] / visits[d] if visits[d] else nan for d in days]


def employee_called(name):
    """Return the address of an employee by first name, None where there is none."""
    found = SDK.Entities.Employee.all(filter={"email": {"$startsWith": name.lower() + "."}})
    return found[0].email if len(found) == 1 else None


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


# A request may split "total visits more" in either place.
*words, more_or_less = f"{args.natural_language_metric} {args.more_or_less}".split(" ")
metric, threshold = " ".join(words), float(args.threshold)
# "Next Friday" is the one of the week after this one; weeks begin on Monday.
next_friday = today + timedelta(days=11 - today.weekday())

since = last_day(args.natural_language_date)
assignee = employee_called(args.name)
if assignee is None:
    return SDK.Out.answer(f"Nobody here is called {args.name}.")
values = daily(metric, since)
if not any(value > threshold if more_or_less == "more" else value < threshold for value in values):
    body = f"I noticed {metric} has been stable, nice work!"
    SDK.Entities.Email.upsert({"box": "outbox", "address": assignee, "subject": metric, "body": body})
    return
SDK.Entities.Task.upsert({"name": f"Improve {metric}", "assignedToEmail": assignee, "listName": "Backlog", "dueDate": next_friday, "board": "Front end"})
starts_at = first_free(today + timedelta(days=1), 30)
if starts_at is None:
    return SDK.Out.answer("There is no free half hour tomorrow for the meeting.")
SDK.Entities.Event.upsert({"name": f"Discuss {metric}", "participantEmail": assignee, "startsAt": starts_at, "durationMinutes": 30})

# If {natural_language_metric} on {day_of_week} was more than {natural_language_growth_threshold}
# {higher_or_lower} than it was the previous {day_of_week}, make a line plot of it over that period.
import re
from collections import Counter
from datetime import datetime, timedelta, timezone
from math import inf, nan

args = SDK.args
today = datetime.now(timezone.utc).date()


def last_weekday(name):
    """Return the last such day of the week before today."""
    names = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"]
    return today - timedelta(days=(today.weekday() - names.index(name.lower())) % 7 or 7)


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


def growth(before, after):
    """Return by how many percent a value has grown, rounded so that exactly 25 % of an average is not a bit more."""
    if before == 0:
        return inf if after > 0 else nan
    return round((after - before) * 100 / before, 9)


last = last_weekday(args.day_of_week)
previous = last - timedelta(days=7)
before, after = (next(iter(daily(args.natural_language_metric, day)), nan) for day in (previous, last))
change = growth(before, after) * (1 if args.higher_or_lower == "higher" else -1)
threshold = float(re.match(r"[\d.]+", args.natural_language_growth_threshold).group())
if not change > threshold:
    return SDK.Out.answer("It was not: there is nothing to plot.")
SDK.Entities.Plot.upsert({"timeMin": str(previous), "timeMax": str(last), "valueToPlot": VALUES[args.natural_language_metric], "plotType": "line"})

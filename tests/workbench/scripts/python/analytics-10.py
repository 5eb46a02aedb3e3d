# Can you check the percent growth of {natural_language_metric} since {day_of_week}? If it grew by more than
# {natural_language_metric_2}, plot both lines since then
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


since = last_weekday(args.day_of_week)
metrics = [args.natural_language_metric, args.natural_language_metric_2]
grown = []
for metric in metrics:
    values = daily(metric, since)
    grown.append(growth(values[0], values[-1]) if values else nan)
if not grown[0] > grown[1]:
    return SDK.Out.answer("It did not grow by more: there is nothing to plot.")
yesterday = str(today - timedelta(days=1))
SDK.Entities.Plot.upsert_many([{"timeMin": str(since), "timeMax": yesterday, "valueToPlot": VALUES[metric], "plotType": "line"} for metric in metrics])

// If {natural_language_metric} on {day_of_week} was more than {natural_language_growth_threshold}
// {higher_or_lower} than it was the previous {day_of_week}, make a line plot of it over that period.
const { Plot } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];

// The last such day of the week before today.
function lastWeekday(name) {
  const back = (new Date(today).getUTCDay() - WEEKDAYS.indexOf(name.toLowerCase()) + 7) % 7 || 7;
  return day(today - back * DAY);
}

const VALUES = { "total visits": "total_visits", "average session duration": "session_duration_seconds", "engaged users": "user_engaged" };

// A metric on each day from one until yesterday, the first day first. A day without visits has
// no average (NaN), and nothing is known of the days before the first visit.
function daily(metric, since) {
  const days = {};
  const filter = { date: { $gte: since, $lt: day(today) } };
  for (const row of SDK.Entities.Visit.aggregate({ filter, groupBy: ["date", "engaged"], count: true, sum: "sessionSeconds" })) {
    const of = (days[row.date] ??= { visits: 0, seconds: 0, engaged: 0 });
    of.visits += row.count;
    of.seconds += row.sumSessionSeconds;
    if (row.engaged) of.engaged += row.count;
  }
  const values = {
    "total visits": (of) => of.visits,
    "average session duration": (of) => of.seconds / of.visits,
    "engaged users": (of) => of.engaged,
  };
  const [first] = SDK.Entities.Visit.firstPage(1, { sort: "date" }).items;
  const out = [];
  for (let ms = Date.parse(since); ms < today; ms += DAY) {
    if (day(ms) >= first?.date) out.push(values[metric](days[day(ms)] ?? { visits: 0, seconds: 0, engaged: 0 }));
  }
  return out;
}

const last = lastWeekday(args.day_of_week);
const previous = day(Date.parse(last) - 7 * DAY);
const [before] = daily(args.natural_language_metric, previous);
const [after] = daily(args.natural_language_metric, last);
// Rounded so that exactly 25 % of an average is not a bit more.
const growth = Number((((after - before) * 100) / before).toFixed(9));
const change = growth * (args.higher_or_lower === "higher" ? 1 : -1);
if (!(change > parseFloat(args.natural_language_growth_threshold))) return SDK.Out.answer("It was not: there is nothing to plot.");
Plot.upsert({ timeMin: previous, timeMax: last, valueToPlot: VALUES[args.natural_language_metric], plotType: "line" });

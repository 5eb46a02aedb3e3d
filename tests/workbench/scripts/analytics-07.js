// If {natural_language_metric} is more than {natural_language_growth_threshold} {higher_or_lower} than
// {natural_language_date}, make a line plot of it since then
const { Plot } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// The last day that a text such as "November 21" was.
function lastDay(text) {
  const inYear = (year) => Date.parse(`${text}, ${year} UTC`);
  const year = new Date(today).getUTCFullYear();
  return day(inYear(year) <= today ? inYear(year) : inYear(year - 1));
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

// By how many percent a metric has grown from a day until yesterday, rounded so that exactly
// 25 % of an average is not a bit more.
function growth(metric, since) {
  const values = daily(metric, since);
  return Number((((values.at(-1) - values[0]) * 100) / values[0]).toFixed(9));
}

const since = lastDay(args.natural_language_date);
const change = growth(args.natural_language_metric, since) * (args.higher_or_lower === "higher" ? 1 : -1);
if (!(change > parseFloat(args.natural_language_growth_threshold))) return SDK.Out.answer("It is not: there is nothing to plot.");
Plot.upsert({ timeMin: since, timeMax: day(today - DAY), valueToPlot: VALUES[args.natural_language_metric], plotType: "line" });

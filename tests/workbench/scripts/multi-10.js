// If {natural_language_metric} was {more_or_less} than {threshold} at any time since {natural_language_date}
// send an email to {sender} titled 'Update on {natural_language_metric}' saying 'I noticed
// {natural_language_metric} was {more_or_less} than {threshold} - can you update me?'
const { Email } = SDK.Entities;
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

// A metric on each day from one until yesterday, the first day first.
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
  return Object.keys(days).sort().map((date) => values[metric](days[date]));
}

// A request may split "total visits more" in either place.
const words = `${args.natural_language_metric} ${args.more_or_less}`.split(" ");
const moreOrLess = words.pop();
const metric = words.join(" ");
const threshold = Number(args.threshold);
const beyond = (value) => (moreOrLess === "more" ? value > threshold : value < threshold);

const since = lastDay(args.natural_language_date);
if (!daily(metric, since).some(beyond)) return SDK.Out.answer("It never was.");

Email.upsert({
  box: "outbox",
  address: args.sender,
  subject: `Update on ${metric}`,
  body: `I noticed ${metric} was ${moreOrLess} than ${args.threshold} - can you update me?`,
});

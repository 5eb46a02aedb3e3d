// Can you make a line plot of the {most_or_least} popular traffic source since {natural_language_date}?
const { Plot, Visit } = SDK.Entities;
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

const since = lastDay(args.natural_language_date);
const visits = { direct: 0, referral: 0, "search engine": 0, "social media": 0 };
for (const row of Visit.aggregate({ filter: { date: { $gte: since, $lt: day(today) } }, groupBy: "trafficSource", count: true })) {
  visits[row.trafficSource] = row.count;
}
const sign = args.most_or_least === "most" ? -1 : 1;
const [source] = Object.keys(visits).sort((a, b) => sign * (visits[a] - visits[b]));
Plot.upsert({ timeMin: since, timeMax: day(today - DAY), valueToPlot: `visits_${source.replaceAll(" ", "_")}`, plotType: "line" });

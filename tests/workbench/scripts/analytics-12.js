// If we got more traffic from {traffic_source_1} than {traffic_source_2} during the last {n_weeks} weeks,
// make bar charts of both over that period
const { Plot, Visit } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

const since = day(today - Number(args.n_weeks) * 7 * DAY);
const sources = [args.traffic_source_1, args.traffic_source_2];
const [first, second] = sources.map((trafficSource) => Visit.count({ trafficSource, date: { $gte: since, $lt: day(today) } }));
if (first <= second) return SDK.Out.answer("There was not more traffic from it: there is nothing to plot.");
Plot.upsertMany(
  sources.map((source) => ({
    timeMin: since,
    timeMax: day(today - DAY),
    valueToPlot: `visits_${source.replaceAll(" ", "_")}`,
    plotType: "bar",
  })),
);

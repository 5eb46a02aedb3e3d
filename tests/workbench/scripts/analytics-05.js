// Make bar charts showing {natural_language_metric} and {natural_language_metric_2} since {date_min}
const { Plot } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

const VALUES = { "total visits": "total_visits", "average session duration": "session_duration_seconds", "engaged users": "user_engaged" };

Plot.upsertMany(
  [args.natural_language_metric, args.natural_language_metric_2].map((metric) => ({
    timeMin: args.date_min,
    timeMax: day(today - DAY),
    valueToPlot: VALUES[metric],
    plotType: "bar",
  })),
);

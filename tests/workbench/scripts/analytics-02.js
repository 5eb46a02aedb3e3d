// Plot the distribution of {natural_language_metric} on {natural_language_date}
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

const date = lastDay(args.natural_language_date);
Plot.upsert({ timeMin: date, timeMax: date, valueToPlot: VALUES[args.natural_language_metric], plotType: "histogram" });

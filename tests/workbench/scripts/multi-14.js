// Check the percent growth of {natural_language_metric} since {day_of_week} and if was more than
// {natural_language_metric_2} make a backlog task called 'Improve {natural_language_metric_2}' for {name} on
// the front-end board with a deadline of next Friday
const { Task } = SDK.Entities;
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

// "Next Friday" is the one of the week after this one; weeks begin on Monday.
const monday = today - ((new Date(today).getUTCDay() + 6) % 7) * DAY;
const nextFriday = day(monday + 11 * DAY);

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const since = lastWeekday(args.day_of_week);
const { natural_language_metric: metric, natural_language_metric_2: other } = args;
if (!(growth(metric, since) > growth(other, since))) return SDK.Out.answer("It did not grow by more.");
const assignedToEmail = employeeCalled(args.name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.name}.`);
Task.upsert({ name: `Improve ${other}`, assignedToEmail, listName: "Backlog", dueDate: nextFriday, board: "Front end" });

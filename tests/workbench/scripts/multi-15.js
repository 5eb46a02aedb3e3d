// If {natural_language_metric} was {more_or_less} than {threshold} at any time since {natural_language_date}
// delete all {assigned_to_first_name}'s leads in the CRM
const { Customer } = SDK.Entities;
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

// A request may split "total visits more" in either place.
const words = `${args.natural_language_metric} ${args.more_or_less}`.split(" ");
const moreOrLess = words.pop();
const metric = words.join(" ");
const threshold = Number(args.threshold);
const beyond = (value) => (moreOrLess === "more" ? value > threshold : value < threshold);

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const since = lastDay(args.natural_language_date);
if (!daily(metric, since).some(beyond)) return SDK.Out.answer("It never was.");
const assignedToEmail = employeeCalled(args.assigned_to_first_name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.assigned_to_first_name}.`);
SDK.Out.answer(Customer.deleteByQuery({ assignedToEmail, status: "Lead" }));

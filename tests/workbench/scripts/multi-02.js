// Add {new_customer_name} as a new lead in the crm and assign them to the person with the fewest overdue
// tasks
const { Customer, Task } = SDK.Entities;
const args = SDK.args;
const DAY = 864e5;
const day = (ms) => new Date(ms).toISOString().slice(0, 10);
const today = Date.parse(day(Date.now()));

// Of those who have overdue tasks; of several the first by name.
const [fewest] = Task.aggregate({
  filter: { dueDate: { $lt: day(today) }, listName: { $ne: "Completed" } },
  groupBy: "assignedToEmail",
  count: true,
  sort: "count,assignedToEmail",
  limit: 1,
});
if (!fewest) return SDK.Out.answer("Nobody has overdue tasks.");
Customer.upsert({ name: args.new_customer_name, assignedToEmail: fewest.assignedToEmail, status: "Lead" });

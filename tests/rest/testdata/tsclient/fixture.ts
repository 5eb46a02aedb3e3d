// Calls the fixture with the client that hey-api generates, and prints what it got. Where an error is
// expected is a mistake that the compiler has to find.
import { stepUpsert, todoAggregate, todoQuery, todoUpsert } from "./api";
import { client } from "./api/client.gen";
import type { Having, TodoFilter, TodoWith } from "./api";

declare const process: { argv: string[] };

const filter: TodoFilter = {
  title: { $startsWith: "Buy" }, effort: null, $or: [{ completed: false }, { $not: { title: { $in: ["a"] } } }], assignedUser: { $exists: false }, steps: { $some: { done: false, todo: { title: "Buy milk" } } },
};
const related: TodoWith = { steps: { limit: 2, sort: "-text", filter: { done: false }, with: "todo" }, assignedUser: true };
const having: Having = { count: { $gte: 1 }, $or: [{ count: 1 }] };
// @ts-expect-error: there is no such field
export const wrong: TodoFilter = { titel: "x" };
// @ts-expect-error: there is no such relationship
export const step: TodoWith = { step: true };

async function main() {
  client.setConfig({ baseUrl: process.argv[2] });
  await todoUpsert({ body: { id: "t1", title: "Buy milk", priority: "high" }, throwOnError: true });
  await stepUpsert({ body: { text: "Take the bag", todo: "t1" }, throwOnError: true });
  const { data } = await todoQuery({ body: { filter, with: related }, throwOnError: true });
  const grouped = await todoAggregate({ body: { groupBy: "priority", count: true, having, filter }, throwOnError: true });
  console.log(JSON.stringify({ steps: data.items.map((t) => t.steps?.map((s) => [s.text, s.todo?.title])), groups: grouped.data.rows }));
}

void main();

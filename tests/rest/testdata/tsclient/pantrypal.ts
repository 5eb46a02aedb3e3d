// Calls PantryPal with the client that hey-api generates, and prints what it got. Where an error is
// expected is a mistake that the compiler has to find.
import { householdQuery, pantryItemAggregate, pantryItemQuery, pantryItemUpsert } from "./api";
import { client } from "./api/client.gen";
import type { Detection, Having, HouseholdFilter, PantryItem, PantryItemFilter, PantryItemWith } from "./api";

declare const process: { argv: string[] };

const filter: PantryItemFilter = { name: { $startsWith: "Sourdough s" }, place: "fridge", amount: { $gt: 1 }, $or: [{ food: { name: { $startsWith: "Milk" } } }, { bestBefore: null }, { bestBefore: { $lt: "2030-01-01" } }] };
const related: PantryItemWith = { food: { fields: "name", filter: { name: { $icontains: "milk" } } }, product: true };
const having: Having = { count: { $gte: 1 } };
const homes: HouseholdFilter = { name: { $ne: "Nobody's" }, $or: [{ removed: null }, { removed: { $size: 0 } }] };
export function box(d: Detection): number { return (d.box as { x: number }).x; }
export function food(i: PantryItem): string | undefined { return i.food?.name; }
// @ts-expect-error: food has no such field
export const wrong: PantryItemFilter = { food: { naem: "x" } };

async function main() {
  client.setConfig({ baseUrl: process.argv[2] });
  await pantryItemUpsert({ body: { name: "Sourdough starter", place: "fridge", amount: 2 }, throwOnError: true });
  const { data } = await householdQuery({ body: { filter: homes }, throwOnError: true });
  const items = await pantryItemQuery({ body: { filter, with: related }, throwOnError: true });
  const places = await pantryItemAggregate({ body: { groupBy: "place", count: true, having, filter }, throwOnError: true });
  console.log(JSON.stringify({
    homes: data.items.every((h) => h.name && (h.removed ?? []).join() === "" && (h.members as { portion: number }[] | null ?? []).every((m) => m.portion > 0)), items: items.data.items.map((i) => [i.name, i.amount, food(i)]), places: places.data.rows,
  }));
}

void main();

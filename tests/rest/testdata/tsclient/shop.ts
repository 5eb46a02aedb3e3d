// Calls the shop with the client that hey-api generates, and prints what it got. Where an error is
// expected is a mistake that the compiler has to find.
import { categoryUpsert, customerUpsert, lineAggregate, lineUpsert, orderGetById, orderUpsert, productCollection, productQuery, productUpsert } from "./api";
import { client } from "./api/client.gen";
import type { Having, LineAggregateData, Product, ProductFilter, ProductModel, ProductWith } from "./api";

declare const process: { argv: string[] };

/** must is the data of an answer, which has to be there. */
async function must<T>(answer: Promise<{ data?: T; error?: unknown }>): Promise<T> {
  const { data, error } = await answer;
  if (data === undefined) throw new Error(JSON.stringify(error));
  return data;
}

// What a program writes.
const models: ProductModel[] = [
  { sku: "tea", name: "Tea", status: "on_sale", price: "3.50", category: "green", serial: "9007199254740993", dimensions: { width: 10, height: 20 }, tags: ["hot"], attributes: { origin: "Assam" }, extra: { grams: 100, blend: [1, null] } },
  { sku: "pot", name: "Pot", price: 12.5, category: { id: "green" }, serial: 7, tags: ["clay", "hot"] },
];
const filter: ProductFilter = {
  name: { $startsWith: "T" }, status: "on_sale", price: { $between: ["1", "5.00"] }, serial: { $gt: "9007199254740992" }, tags: { $has: "hot" },
  attributes: { $path: { origin: "Assam" } }, category: { parent: { title: { $icontains: "DRINK" } } }, lines: { $some: { quantity: { $gte: 2 }, order: { state: "sent", customer: { email: "a@b.example" } } } },
  goesWith: { $every: { sku: { $in: ["pot"] } } }, $or: [{ extra: null }, { $not: { sku: "pot" } }],
};
const related: ProductWith = { category: { with: { parent: { fields: "title" } } }, goesWith: { limit: 3, sort: "-sku", filter: { price: { $lt: "20" } } }, lines: { with: "order.customer" } };
const having: Having = { count: { $gte: 1 }, $or: [{ sumQuantity: { $gt: 2 } }, { sumQuantity: 2 }] };
const groups: LineAggregateData["body"] = { groupBy: "product", count: true, sum: ["quantity"], having, sort: "-sumQuantity", filter: { product: { status: { $ne: "retired" } } } };
const whole = "lines.product.category.parent,customer";

// @ts-expect-error: there is no such field
export const field: ProductFilter = { nmae: "x" };
// @ts-expect-error: numbers do not begin
export const operator: ProductFilter = { serial: { $startsWith: "9" } };
// @ts-expect-error: an entity that is reached has no such field
export const reached: ProductFilter = { category: { parent: { sku: "x" } } };
// @ts-expect-error: there is no such relationship
export const relationship: ProductWith = { reviews: true };
// @ts-expect-error: no such value
export const value: ProductModel = { sku: "x", name: "x", price: "1", status: "lost" };
// @ts-expect-error: an amount is no list
export const amount: ProductFilter = { price: ["1"] };

// What a program reads.
function describe(p: Product) {
  const size = p.dimensions as { width: number };
  const blend = p.extra?.["blend"];
  return {
    name: p.name?.toUpperCase(), price: p.price?.padStart(6), serial: String(p.serial), width: size.width, origin: p.attributes?.["origin"]?.toLowerCase(), tags: p.tags?.join(),
    blend: Array.isArray(blend) ? blend.length : 0, parent: p.category?.parent?.title, pots: p.goesWith?.map((o) => o.sku), buyers: p.lines?.map((l) => l.order?.customer?.name),
  };
}

async function main() {
  client.setConfig({ baseUrl: process.argv[2] });
  await must(categoryUpsert({ body: { id: "drinks", title: "Drinks" } }));
  await must(categoryUpsert({ body: { id: "green", title: "Green", parent: "drinks" } }));
  const [tea, pot] = [await must(productUpsert({ body: models[0]! })), await must(productUpsert({ body: models[1]! }))];
  await must(productUpsert({ body: { id: tea.id, goesWith: { $add: [pot.id] } } }));
  const customer = await must(customerUpsert({ body: { email: "a@b.example", name: "Ann" } }));
  const order = await must(orderUpsert({ body: { customer: customer.id, state: "sent" } }));
  await must(lineUpsert({ body: { order: order.id, product: tea.id, quantity: 2, price: "7.00" } }));
  await must(lineUpsert({ body: { order: order.id, product: { id: pot.id }, price: "12.50" } }));

  const found = await must(productQuery({ body: { filter, with: related } }));
  const page = await must(productCollection({ query: { filter: JSON.stringify(filter), pageSize: 1, count: true } }));
  const rows = (await must(lineAggregate({ body: groups }))).rows;
  const read = await must(orderGetById({ path: { id: order.id }, query: { with: whole } }));
  const missing = await orderGetById({ path: { id: "999" } });
  console.log(JSON.stringify({
    products: found.items.map(describe), total: page.totalCount, groups: rows.map((r) => [r["count"], r["sumQuantity"]]), titles: read.lines?.map((l) => l.product?.category?.parent?.title), problem: missing.error && "code" in missing.error ? missing.error.code : "",
  }));
}

void main();

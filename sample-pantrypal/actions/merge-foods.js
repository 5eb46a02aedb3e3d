// What is kept under two foods is one.
export const action = {
  title: "Merge two foods",
  description: "Joins what the household has under one food, or under a name that is no food yet, to another food: lots, products, prices, things to buy, ingredients of its own recipes. A food of the household's own is gone then, and its names are names of the other; the catalogue itself stays.",
  input: {
    type: "object",
    properties: {
      from: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name of a food, or the name of lots that have no food." },
      into: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name of the food that it is." },
    },
    required: ["from", "into"],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["into", "lots", "products", "prices", "items", "ingredients", "byName"],
    properties: { byName: { type: "array", items: { type: "string" }, description: "What had no food and was taken by its name." }, into: { type: "string" }, lots: { type: "integer" }, products: { type: "integer" }, prices: { type: "integer" }, items: { type: "integer" }, ingredients: { type: "integer" } },
  },
  listed: false,
  effects: { destructive: true },
  examples: [{ from: "Parmigiano", into: "Parmesan" }],
};

const KINDS = { lots: "PantryItem", products: "Product", items: "ShoppingItem", ingredients: "RecipeIngredient" };

/** @param {SDK.Actions.MergeFoodsInput} input */
export default ({ from, into }) => {
  const target = food(into), source = food(from), byName = /** @type {string[]} */ ([]), unnamed = new Set();
  if (!target.id) refuse("/into", 'There is no food "' + into + '".', target.hint ?? "find-food looks for foods.");
  const other = source.id && source.id !== target.id ? source.id : null;
  const out = { into: target.id, lots: 0, products: 0, prices: 0, items: 0, ingredients: 0, byName };
  const change = (/** @type {"lots" | "products" | "prices" | "items" | "ingredients"} */ kind, /** @type {Kept} */ entity, /** @type {{ id: string }[]} */ rows) => {
    for (const row of rows) of(entity).patch(row.id, { foodId: target.id, ...(entity === "PantryItem" ? { reason: "merged" } : {}) });
    out[kind] += rows.length;
  };
  for (const [kind, entity] of /** @type {["lots" | "products" | "items" | "ingredients", Kept][]} */ (Object.entries(KINDS))) {
    const own = entity === "RecipeIngredient" ? { recipe: { origin: "household" } } : {};
    const loose = of(entity).all({ filter: { foodId: null, ...own }, sort: "id" }), among = loose.map((row) => row.name);
    const { same, alike } = SDK.Actions.matchNames({ name: from, among });
    for (const i of alike) unnamed.add(among[i]);
    for (const i of same) byName.push(entity + " " + among[i]);
    change(kind, entity, same.map((i) => loose[i]));
    if (other) change(kind, entity, of(entity).all({ filter: { foodId: other, ...own } }));
  }
  if (other) change("prices", "Price", SDK.Entities.Price.all({ filter: { foodId: other } }));
  const own = other && SDK.Entities.Food.getById(other).origin === "household";
  if (own) take(other, target.id);
  if (!own && !out.lots && !out.products && !out.prices && !out.items && !out.ingredients) {
    if (source.id === target.id) refuse("/into", '"' + from + '" and "' + into + '" are the same food: there is nothing to merge.', "Send two foods.");
    const hints = [source.hint, unnamed.size ? "There is " + [...unnamed].slice(0, 8).join(", ") + "." : undefined].filter((h) => h);
    refuse("/from", 'Nothing of the household is kept as "' + from + '".', hints.join(" ") || "Send the id or name of a food, or the name of lots.");
  }
  return out;
};

/** Takes a food of the household away, of which nothing is kept any more, and gives its names to another. */
const take = (/** @type {string} */ id, /** @type {string} */ into) => {
  const gone = SDK.Entities.Food.getById(id, { with: "portions" }), heir = SDK.Entities.Food.getById(into);
  const names = [gone.name, ...(gone.aliases ?? []), ...(gone.ownNames ?? [])];
  SDK.Entities.Food.delete(id);
  SDK.Entities.Food.patch(into, { ownNames: [...(heir.ownNames ?? []), ...names] });
};

/** @typedef {"PantryItem" | "Product" | "Price" | "ShoppingItem" | "RecipeIngredient"} Kept */

/**
 * What the household keeps, with what all of it has.
 * @type {(entity: Kept) => SDK.Entity<{ id: string, name: string, foodId: string | null }, never, "default", any>}
 */
const of = (entity) => /** @type {any} */ (SDK.Entities[entity]);

/** The food that is called so, case and plural apart; else what it may be. */
const food = (/** @type {string} */ name) => {
  const known = SDK.Entities.Food.findById(name);
  if (known) return { id: known.id };
  const { food: like, candidates } = SDK.Actions.findFood({ names: [name] }).found[0];
  const found = like && SDK.Entities.Food.getById(like.id);
  if (found && SDK.Actions.matchNames({ name, among: [found.name, ...(found.aliases ?? []), ...(found.ownNames ?? [])] }).same.length) return { id: found.id };
  const names = [...(like ? [like] : []), ...candidates].map((c) => c.name);
  return { id: null, hint: names.length ? "Did you mean " + names.join(", ") + "?" : undefined };
};

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

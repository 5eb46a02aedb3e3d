// What is kept under two foods is one.
export const action = {
  title: "Merge two foods",
  description: "Joins what the household has under one food, or under a name that is no food yet, to another food of the catalogue: lots, products, prices, things to buy, ingredients of its own recipes. The catalogue itself stays.",
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
    type: "object", required: ["into", "lots", "products", "prices", "items", "ingredients"],
    properties: { into: { type: "string" }, lots: { type: "integer" }, products: { type: "integer" }, prices: { type: "integer" }, items: { type: "integer" }, ingredients: { type: "integer" } },
  },
  listed: false,
  effects: {},
  examples: [{ from: "Parmigiano", into: "Parmesan" }],
};

export default ({ from, into }) => {
  const [a, b] = SDK.Actions.findFood({ names: [from, into] }).found;
  const target = SDK.Entities.Food.findById(into) ?? (b.food ? SDK.Entities.Food.getById(b.food.id) : null);
  if (!target) refuse("/into", 'There is no food "' + into + '".', b.candidates.length ? "Did you mean " + b.candidates.map((c) => c.name).join(", ") + "?" : "find-food looks for foods.");
  const source = SDK.Entities.Food.findById(from)?.id ?? a.food?.id ?? null;
  // Rows that name it: those of the source, and those without a food that have its name.
  const named = { foodId: null, name: { $icontains: from } };
  const rows = (filter) => (source && source !== target.id ? { $or: [{ foodId: source }, filter] } : filter);
  const change = (entity, filter) => {
    const found = SDK.Entities[entity].all({ filter });
    for (const row of found) SDK.Entities[entity].patch(row.id, entity === "PantryItem" ? { foodId: target.id, reason: "merged" } : { foodId: target.id });
    return found.length;
  };
  const out = {
    into: target.id,
    lots: change("PantryItem", rows(named)), products: change("Product", rows(named)),
    prices: source && source !== target.id ? change("Price", { foodId: source }) : 0,
    items: change("ShoppingItem", rows(named)), ingredients: change("RecipeIngredient", { $and: [rows(named), { recipe: { origin: "household" } }] }),
  };
  if (!out.lots && !out.products && !out.prices && !out.items && !out.ingredients) refuse("/from", 'Nothing of the household is kept as "' + from + '".', "Send the id or name of a food, or the name of lots.");
  return out;
};

/** Refuses the input at a path, and says what to send instead. */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

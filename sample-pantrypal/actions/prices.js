// How the price of a food went, store by store.
export const action = {
  title: "Prices of a food",
  description: "How the price of a food developed, month by month and store by store, per kg, l or piece; where it is cheapest now, and by how much it rose.",
  input: {
    type: "object",
    properties: {
      food: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name." },
      months: { type: "integer", minimum: 1, maximum: 60, default: 12, description: "This one included." },
    },
    required: ["food"],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["foodId", "name", "stores", "cheapest"],
    properties: {
      foodId: { type: "string" }, name: { type: "string" },
      per: { type: ["string", "null"], description: "kg, l or piece." },
      stores: {
        type: "array",
        items: {
          type: "object", required: ["store", "now", "on", "months"],
          properties: { store: { type: "string" }, now: { type: "number" }, on: { type: "string" }, changePercent: { type: ["number", "null"], description: "From the first month to the last." }, months: { type: "array", items: { type: "object", properties: { month: { type: "string" }, average: { type: "number" } } } } },
        },
      },
      cheapest: { type: ["string", "null"] },
    },
  },
  effects: { readOnly: true },
  examples: [{ food: "milk" }],
};

/** @param {SDK.Actions.PricesInput} input */
export default ({ food, months = 12 }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  const [f] = SDK.Actions.findFood({ names: [food] }).found;
  const of = SDK.Entities.Food.findById(food) ?? f.food;
  if (!of) refuse("/food", 'There is no food "' + food + '".', f.candidates.length ? "Did you mean " + f.candidates.map((c) => c.name).join(", ") + "?" : "find-food looks for foods.");
  const [y, m] = today.split("-").map(Number);
  const since = new Date(Date.UTC(y, m - months, 1)).toISOString().slice(0, 10);
  const rows = SDK.Entities.Price.all({ filter: { foodId: of.id, on: { $gte: since }, perUnit: { $ne: null } }, sort: "on,id", with: "store" });
  // Prices of a kilogram and of a piece do not compare: the kind that is most common counts.
  const kind = (/** @type {string} */ u) => (["g", "kg", "mg", "oz", "lb"].includes(u) ? "kg" : ["ml", "cl", "dl", "l"].includes(u) ? "l" : u);
  const kinds = new Map();
  for (const r of rows) kinds.set(kind(r.unit), (kinds.get(kind(r.unit)) ?? 0) + 1);
  const per = [...kinds].sort((a, b) => b[1] - a[1])[0]?.[0] ?? null;
  const byStore = new Map();
  for (const r of rows.filter((r) => kind(r.unit) === per)) {
    const name = r.store?.name ?? "elsewhere";
    byStore.set(name, [...(byStore.get(name) ?? []), r]);
  }
  const round = (/** @type {number} */ n) => Math.round(n * 100) / 100;
  const stores = [...byStore].map(([store, list]) => {
    /** @type {Map<string, number[]>} */
    const byMonth = new Map();
    for (const r of list) byMonth.set(r.on.slice(0, 7), [...(byMonth.get(r.on.slice(0, 7)) ?? []), r.perUnit]);
    const trend = [...byMonth].map(([month, v]) => ({ month, average: round(v.reduce((a, b) => a + b, 0) / v.length) }));
    const first = trend[0].average, lastOne = trend[trend.length - 1].average;
    return { store, now: round(list[list.length - 1].perUnit), on: list[list.length - 1].on, changePercent: trend.length > 1 && first > 0 ? Math.round(((lastOne - first) / first) * 1000) / 10 : null, months: trend };
  }).sort((a, b) => a.now - b.now || (a.store < b.store ? -1 : 1));
  return { foodId: of.id, name: of.name, per, stores, cheapest: stores[0]?.store ?? null };
};

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

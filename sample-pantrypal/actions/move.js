// Lots go from one household to another, with what they refer to.
export const action = {
  title: "Move things to the other household",
  description: "Moves lots from one household (set) to another, such as default to lake-house, with the product they are of. Where one run cannot write to both, the first call puts them there and the second takes them out here: call it until done is true. Nothing is ever in neither.",
  input: {
    type: "object",
    properties: {
      lots: { type: "array", items: { type: "string" }, minItems: 1, maxItems: 200, description: "Ids of lots, the same in both calls." },
      from: { enum: ["default", "lake-house"], default: "default" },
      to: { enum: ["default", "lake-house"], default: "lake-house" },
    },
    required: ["lots"],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["done", "arrived", "left"],
    properties: { done: { type: "boolean" }, arrived: { type: "integer" }, left: { type: "integer" }, next: { type: "string" } },
  },
  listed: false,
  effects: {},
  examples: [],
};

export default ({ lots, from = "default", to = "lake-house" }) => {
  if (from === to) refuse("/to", "from and to are both " + from + ".", "Send the other household.");
  const ids = [...new Set(lots)];
  const here = ids.map((id) => SDK.Entities.PantryItem.getById(id, { set: from, with: "product,store" }));
  const there = new Set(SDK.Entities.PantryItem.all({ filter: { id: { $in: ids } }, fields: ["id"], set: to }).map((l) => l.id));
  const missing = here.filter((l) => !there.has(l.id));
  const gone = missing.find((l) => l.status !== "available");
  if (gone) refuse("/lots/" + lots.indexOf(gone.id), gone.name + " is not in the house any more.", "Send lots that are available.");
  for (const l of missing) {
    const p = l.product;
    if (p && !SDK.Entities.Product.findById(p.id, { set: to })) {
      SDK.Entities.Product.upsert({ id: p.id, name: p.name, brand: p.brand, barcodes: p.barcodes, foodId: p.foodId, packageAmount: p.packageAmount, packageUnit: p.packageUnit, state: p.state }, { set: to });
    }
    if (l.store && !SDK.Entities.Store.findById(l.store.id, { set: to })) SDK.Entities.Store.upsert({ id: l.store.id, name: l.store.name, aisles: l.store.aisles, note: l.store.note }, { set: to });
    SDK.Entities.PantryItem.upsert({
      id: l.id, name: l.name, foodId: l.foodId, productId: l.productId, storeId: l.storeId, amount: l.amount, initialAmount: l.initialAmount, unit: l.unit, place: l.place, bestBefore: l.bestBefore, openedAt: l.openedAt,
      unitPrice: l.unitPrice, staple: l.staple, source: l.source, addedAt: l.addedAt, reason: "moved",
    }, { set: to });
  }
  let left = 0;
  try {
    for (const l of here.filter((l) => l.status === "available")) {
      SDK.Entities.PantryItem.patch(l.id, { amount: 0, status: "consumed", reason: "moved" }, { set: from });
      left++;
    }
  } catch (e) {
    if (e.code !== "cross_set") throw e;
    return { done: false, arrived: missing.length, left: 0, next: "They are in " + to + ". Call move again with the same lots to take them out of " + from + "." };
  }
  return { done: true, arrived: missing.length, left, next: "" };
};

/** Refuses the input at a path, and says what to send instead. */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

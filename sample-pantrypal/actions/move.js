// Lots go from one household to another, with what they refer to.
export const action = {
  title: "Move things to the other household",
  description: "Moves lots from one household (set) to another with their products. Where one run cannot write to both, the first call puts them there and the second takes them out here: call it until done is true.",
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

/** @param {SDK.Actions.MoveInput} input */
export default ({ lots, from = "default", to = "lake-house" }) => {
  if (from === to) refuse("/to", "from and to are both " + from + ".", "Send the other household.");
  const ids = [...new Set(lots)];
  const here = ids.map((id) => SDK.Entities.PantryItem.getById(id, { set: from, with: "product,store" }));
  const there = new Map(SDK.Entities.PantryItem.all({ filter: { id: { $in: ids } }, set: to }).map((l) => [l.id, l]));
  const replaced = byDiary(ids, from, to);
  let arrived = 0;
  for (const l of here) {
    const other = there.get(l.id);
    if (other && inHouse(other)) {
      if (!inHouse(l)) continue; // it went before
      if (replaced(l.id)) refuse("/lots/" + lots.indexOf(l.id), l.name + " was moved to " + to + " and is there still; what is here came later.", "Make a lot of its own of what is here, and move that.");
      if (l.unit === other.unit && l.amount >= other.amount) continue; // it is there, whole or less what was used there since
    } else if (!inHouse(l)) {
      refuse("/lots/" + lots.indexOf(l.id), l.name + " is not in the house any more.", "Send lots that are available.");
    }
    bring(l, to);
    arrived++;
  }
  let left = 0;
  try {
    for (const l of here.filter(inHouse)) {
      SDK.Entities.PantryItem.patch(l.id, { amount: 0, status: "consumed", reason: "moved" }, { set: from });
      left++;
    }
  } catch (e) {
    if (/** @type {KoanError} */ (e).code !== "cross_set") throw e;
    return { done: false, arrived, left: 0, next: "They are in " + to + ". Call move again with the same lots to take them out of " + from + "." };
  }
  return { done: true, arrived, left, next: "" };
};

const inHouse = (/** @type {SDK.Entities.PantryItem} */ lot) => lot.status === "available";

/**
 * Tells of lots that are in both households whether they are two: the diaries say that the one there came from
 * here, left here after that, and that what is here now was not moved here.
 * @type {(ids: string[], from: SDK.Entities.PantryEventSet, to: SDK.Entities.PantryEventSet) => (id: string) => boolean}
 */
const byDiary = (ids, from, to) => {
  const last = (/** @type {SDK.Entities.PantryEventSet} */ set, /** @type {SDK.Entities.PantryEvent["kind"][]} */ kinds) => new Map(SDK.Entities.PantryEvent.all({ filter: { itemId: { $in: ids }, reason: "moved", kind: { $in: kinds } }, fields: ["id", "itemId", "kind"], sort: "id", set }).map((e) => [e.itemId, e]));
  const here = last(from, ["came", "went"]), arrived = last(to, ["came"]);
  return (id) => here.get(id)?.kind === "went" && (here.get(id)?.id ?? "") > (arrived.get(id)?.id ?? "");
};

/** Makes a lot of the other household what it is here, and before it what it refers to. */
const bring = (/** @type {SDK.Entities.PantryItem} */ l, /** @type {SDK.Entities.PantryItemSet} */ set) => {
  const p = l.product, s = l.store;
  if (p && !SDK.Entities.Product.findById(p.id, { set })) {
    SDK.Entities.Product.upsert({ id: p.id, name: p.name, brand: p.brand, barcodes: p.barcodes, foodId: p.foodId, packageAmount: p.packageAmount, packageUnit: p.packageUnit, state: p.state }, { set });
  }
  if (s && !SDK.Entities.Store.findById(s.id, { set })) SDK.Entities.Store.upsert({ id: s.id, name: s.name, aisles: s.aisles, note: s.note }, { set });
  SDK.Entities.PantryItem.upsert({
    id: l.id, name: l.name, foodId: l.foodId, productId: l.productId, storeId: l.storeId, amount: l.amount, initialAmount: l.initialAmount, unit: l.unit, place: l.place, bestBefore: l.bestBefore, openedAt: l.openedAt,
    unitPrice: l.unitPrice, staple: l.staple, source: l.source, addedAt: l.addedAt, status: "available", reason: "moved",
  }, { set });
};

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

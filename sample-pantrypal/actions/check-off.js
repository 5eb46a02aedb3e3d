// What was bought leaves the list and is in the house; what was not comes back.
export const action = {
  title: "Check things off",
  description: "Marks things of a shopping list as bought and puts them into the pantry as lots, with place, date and price. What somebody else has checked off is named. Bought is bought: a line that has gone from the list meanwhile becomes a lot all the same, if name says what it was.",
  input: {
    type: "object",
    properties: {
      listId: { type: "string", description: "Without it, the newest open list." },
      items: {
        type: "array", maxItems: 200, description: "Without it, everything that is left.",
        items: {
          type: "object", required: ["item"], additionalProperties: false,
          properties: {
            item: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name of the item." },
            name: { type: "string", maxLength: 120, pattern: "\\S", description: "What it is, for a line that may have gone from the list, or never was on it." },
            amount: { type: "number", exclusiveMinimum: 0, maximum: 100000, description: "Where it is not what the list says." }, unit: { enum: ["g", "kg", "ml", "cl", "l", "piece", "bunch", "can", "bottle", "jar", "pack", "bar", "head", "bulb", "loaf"], description: "Of amount." },
            price: { type: "number", minimum: 0, maximum: 100000, description: "What was paid for all of it." },
            bestBefore: { type: "string", format: "date", pattern: "^\\d{4}-\\d{2}-\\d{2}$" },
          },
        },
      },
      storeId: { type: "string" },
      back: { type: "boolean", default: false, description: "They were not bought." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["bought", "already", "left"],
    properties: {
      bought: { type: "array", items: { type: "object", properties: { itemId: { type: "string" }, lotId: { type: "string" }, name: { type: "string" }, amount: { type: "number" }, unit: { type: "string" }, place: { type: "string" }, bestBefore: { type: ["string", "null"] } } } },
      already: { type: "array", items: { type: "string" } },
      left: { type: "integer", description: "How many items are still to buy; the list is done at 0." },
    },
  },
  effects: {},
  examples: [{}],
};

/** @param {SDK.Actions.CheckOffInput} input */
export default ({ listId, items, storeId, back = false }) => {
  if (back && !items) refuse("/items", "The input does not say what was not bought.", "Send the items to put back onto the list.");
  const gone = !!listId && !back && !!items?.every((i) => i.name) && !SDK.Entities.ShoppingList.findById(listId);
  const list = listId && !gone ? SDK.Entities.ShoppingList.getById(listId) : SDK.Entities.ShoppingList.firstPage(1, { filter: { status: "open" }, sort: "-createdAt", count: false }).items[0]
    ?? (items ? SDK.Entities.ShoppingList.firstPage(1, { sort: "-createdAt", count: false }).items[0] : undefined) // somebody else may just have finished it
    ?? (gone ? SDK.Entities.ShoppingList.upsert({ name: "Bought" }) : undefined);
  if (storeId !== undefined && !SDK.Entities.Store.findById(storeId)) refuse("/storeId", 'There is no store "' + storeId + '".', "The stores are: " + SDK.Entities.Store.all({ sort: "name" }).map((s) => s.id).join(", ") + ".");
  if (!list) refuse("/listId", "There is no open shopping list.", "Make one with shop.");
  const all = SDK.Entities.ShoppingItem.all({ filter: { listId: list.id }, sort: "id", with: "product" });
  const named = new Set();
  const wanted = (items ?? /** @type {NonNullable<SDK.Actions.CheckOffInput["items"]>} */ ( all.filter((i) => !i.bought).map((i) => ({ item: i.id })))).map((w, i) => {
    const at = "/items/" + i;
    if (w.unit && w.amount === undefined) refuse(at + "/amount", "A unit needs an amount.", "Send both, or neither.");
    if (w.bestBefore && !isDay(w.bestBefore)) refuse(at + "/bestBefore", w.bestBefore + " is not a day of the calendar.", "Send a day such as 2026-01-31.");
    const byId = all.find((x) => x.id === w.item);
    const same = byId ? [] : called(w.item, all, back, at);
    const there = byId ?? same.find((x) => x.bought === back && !named.has(x.id)) ?? same.find((x) => x.bought === back) ?? same[0];
    const item = there ?? (w.name && !back ? { ...SDK.Entities.ShoppingItem.upsert({ listId: list.id, name: w.name.trim(), amount: w.amount ?? 1, unit: w.unit ?? "piece" }), product: null } : undefined);
    if (!item) refuse(at + "/item", '"' + w.item + '" is not on the list ' + list.name + ".", (all.length ? "It has: " + all.slice(0, 50).map((i) => i.name).join(", ") + "." : "It is empty.") + (back ? "" : " Send name, too, to put it into the pantry all the same."));
    if (named.has(item.id) && !back) refuse(at + "/item", "The items have " + item.name + " twice.", "Send each thing once, with its amount and price.");
    named.add(item.id);
    return { ...w, row: item };
  });
  const already = wanted.filter((w) => w.row.bought !== back).map((w) => w.row.name);
  if (back) return { bought: [], already, left: putBack(list, wanted) };
  const fresh = wanted.filter((w) => !w.row.bought);
  const stow = SDK.Actions.stow({ foodIds: [...new Set(fresh.flatMap((w) => w.row.foodId ?? []))] });
  const places = new Map(stow.things.map((t) => [t.foodId, t]));
  const at = storeId ?? list.storeId ?? null;
  const bought = fresh.map((w) => {
    const i = w.row, t = places.get(i.foodId ?? "") ?? { place: "pantry", bestBefore: null, staple: false };
    const amount = w.amount ?? i.amount, unit = w.unit ?? i.unit;
    const paid = w.price ?? null, store = at ?? i.storeId;
    const lot = SDK.Entities.PantryItem.upsert({
      name: i.product?.name ?? i.name, foodId: i.foodId, productId: i.productId, amount, unit, place: /** @type {SDK.Entities.PantryItem["place"]} */ (t.place), bestBefore: w.bestBefore ?? t.bestBefore,
      source: "shopping", reason: "bought", storeId: store, unitPrice: paid !== null ? paid / amount : i.estimatedCost !== null && amount === i.amount ? i.estimatedCost / amount : null,
    });
    SDK.Entities.ShoppingItem.patch(i.id, { bought: true, boughtAt: new Date().toISOString(), lotId: lot.id }, { ifVersion: i.version });
    if (paid !== null && i.foodId) SDK.Entities.Price.upsert({ foodId: i.foodId, productId: i.productId, storeId: store, lotId: lot.id, price: paid, amount, unit, on: stow.today });
    return { itemId: i.id, lotId: lot.id, name: lot.name, amount, unit, place: lot.place, bestBefore: lot.bestBefore };
  });
  const left = SDK.Entities.ShoppingItem.count({ listId: list.id, bought: false });
  if (left === 0 && list.status !== "done") SDK.Entities.ShoppingList.patch(list.id, { status: "done" });
  return { bought, already, left };
};

/** Puts things back onto the list and takes their lots out of the house, as if nothing had been paid; returns how many are to buy. */
const putBack = (/** @type {SDK.Entities.ShoppingList} */ list, /** @type {{ row: SDK.Entities.ShoppingItem }[]} */ wanted) => {
  wanted.forEach(({ row }, i) => {
    if (wanted.findIndex((w) => w.row.id === row.id) < i) return;
    const lot = row.bought && row.lotId ? SDK.Entities.PantryItem.findById(row.lotId) : null;
    if (lot && (lot.status !== "available" || lot.amount !== lot.initialAmount)) {
      refuse("/items/" + i + "/item", "Of " + lot.name + " something was used already.", "Correct what is left of it: patch the PantryItem " + lot.id + ".");
    }
    if (lot) {
      SDK.Entities.PantryItem.patch(lot.id, { amount: 0, status: "consumed", reason: "corrected" });
      for (const e of SDK.Entities.PantryEvent.all({ filter: { itemId: lot.id, reason: "bought" } })) SDK.Entities.PantryEvent.patch(e.id, { reason: "corrected" });
      SDK.Entities.Price.updateByQuery({ lotId: lot.id }, { withdrawn: true });
    }
    if (row.bought) SDK.Entities.ShoppingItem.patch(row.id, { bought: false, boughtAt: null, lotId: null }, { ifVersion: row.version });
  });
  const left = SDK.Entities.ShoppingItem.count({ listId: list.id, bought: false });
  if (left > 0 && list.status === "done") SDK.Entities.ShoppingList.patch(list.id, { status: "open" });
  return left;
};

/** The items of a list that are called so; else the only one whose name has all of the words. */
const called = (/** @type {string} */ name, /** @type {SDK.Entities.ShoppingItem[]} */ all, /** @type {boolean} */ back, /** @type {string} */ at) => {
  const { same, fits } = SDK.Actions.matchNames({ name, among: all.map((i) => i.name) });
  if (same.length) return same.map((i) => all[i]);
  const open = fits.filter((i) => all[i].bought === back), could = (open.length ? open : fits).map((i) => all[i]);
  if (new Set(could.map((i) => i.name)).size > 1) refuse(at + "/item", '"' + name + '" could be ' + could.map((i) => i.name).join(" or ") + ".", "Send the id or whole name of one of them.");
  return could;
};

/** @type {(day: string) => boolean} */
const isDay = (day) => { const at = new Date(Date.parse(day)); return !Number.isNaN(at.getTime()) && at.toISOString().slice(0, 10) === day; };

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

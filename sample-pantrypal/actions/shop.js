// What a plan needs minus what is in the house, as a shopping list that follows the plan.
// A staple is there or not: one that a meal needs and the house has none of is bought, one package of it.
export const action = {
  title: "Make the shopping list",
  description: "Writes the shopping list of a plan, or of all planned meals: what they need minus the stock, and what is missing of what the household always wants in the house (Food.keepAmount), in whole packages, by aisle, with prices and meals. Called again, it brings the list up to date; what was bought or added by hand stays.",
  input: {
    type: "object",
    properties: {
      planId: { type: "string", description: "Without it, all planned meals from today on." },
      listId: { type: "string", description: "The list to bring up to date; without it, the open one, or a new one." },
      storeId: { type: "string", description: "Whose prices come first, and in whose order of aisles the list is." },
      until: { type: "string", format: "date", description: "Only meals up to this day." },
      name: { type: "string", minLength: 1, maxLength: 120 },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["listId", "items", "estimatedCost"],
    properties: {
      listId: { type: "string" }, name: { type: "string" },
      items: {
        type: "array",
        items: {
          type: "object", required: ["itemId", "name", "aisle", "text"],
          properties: { itemId: { type: "string" }, name: { type: "string" }, aisle: { type: "string" }, text: { type: "string" }, product: { type: "string" }, packages: { type: ["integer", "null"] }, cost: { type: ["number", "null"] }, storeId: { type: "string" }, for: { type: "array", items: { type: "string" } }, problem: { type: "string" } },
        },
      },
      estimatedCost: { type: ["number", "null"], description: "Of what has a price." },
      withoutPrice: { type: "array", items: { type: "string" } },
      meals: { type: "integer" },
    },
  },
  effects: { destructive: true },
  examples: [{}],
};

/** @param {SDK.Actions.ShopInput} input */
export default ({ planId, listId, storeId, until, name }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  if (storeId !== undefined) checkStore(storeId);
  if (until !== undefined) checkDay("/until", until, today);
  const toBuy = SDK.Entities.ShoppingItem.all({ filter: { bought: false, $or: [{ list: { status: "open" } }, ...(listId ? [{ listId }] : [])] }, sort: "id", with: "needs" });
  const list = listId ? SDK.Entities.ShoppingList.getById(listId) : openList({ planId, name, toBuy });
  const days = { $gte: today, ...(until ? { $lte: until } : {}) };
  // A list of all meals stays one for the plan that is asked for, and a plan's becomes one where meals are planned beside it.
  const beside = !listId && !planId && list?.planId && SDK.Entities.PlannedMeal.count({ status: "planned", date: days, $or: [{ planId: null }, { planId: { $ne: list.planId } }] }) > 0;
  const plan = beside || (list && !listId && !list.planId) ? null : planId ?? list?.planId ?? null;
  const store = storeId ?? list?.storeId ?? null;
  const meals = SDK.Entities.PlannedMeal.all({ filter: { status: "planned", date: days, ...(plan ? { planId: plan } : {}) }, sort: "date,id", with: "recipe" });
  if (planId) SDK.Entities.MealPlan.getById(planId); // not_found for a plan that there is not
  const other = { ...(storeId && storeId !== list?.storeId ? { storeId } : {}), ...(beside ? { planId: null } : {}) };
  const to = !list ? SDK.Entities.ShoppingList.upsert({ name: name ?? OWN + today, planId: plan, storeId: store }) : Object.keys(other).length ? SDK.Entities.ShoppingList.patch(list.id, other) : list;

  // Meals of the plan that come earlier but are not of this list take from the stock as well.
  const before = plan ? SDK.Entities.PlannedMeal.all({ filter: { status: "planned", date: days, planId: { $ne: plan } }, sort: "date,id" }) : [];
  const toCook = (/** @type {SDK.Entities.PlannedMeal} */ m) => (m.recipeId ? [{ key: m.id, recipeId: m.recipeId, servings: m.servings, date: m.date }] : []);
  // What this action wrote before has needs, and is written anew. What somebody added by hand will be
  // bought anyway, and so will what other open lists have for these meals. What was bought counts as
  // bought: check-off has put it into the stock.
  const ours = (/** @type {typeof toBuy[number]} */ i) => i.listId === to.id && (i.needs.length > 0 || i.forStock);
  const made = toBuy.filter(ours);
  const mine = new Map(made.map((i) => [(i.foodId ?? i.name) + " " + i.unit, i])), ids = new Set(meals.map((m) => m.id));
  const listed = toBuy.filter((i) => !ours(i)).flatMap(({ foodId, name, amount, unit, needs }) => {
    if (!needs.length) return [{ foodId, name, amount, unit }];
    return needs.filter((n) => ids.has(n.mealId)).map((n) => (n.amount > 0 ? { foodId, name, amount: n.amount, unit: n.unit } : { foodId, name, amount, unit }));
  });
  const cover = SDK.Actions.coverMeals({ before: before.flatMap(toCook), meals: meals.flatMap(toCook), together: true, shop: true, keep: true, listed, ...(store ? { storeId: store } : {}) });
  const title = new Map(meals.map((m) => [m.id, m.recipe?.name]));
  const items = [], keep = new Set();
  for (const b of cover.toBuy) {
    const unit = b.unit ?? "piece", key = (b.foodId ?? b.name) + " " + unit;
    const was = mine.get(key);
    const model = {
      name: b.name, foodId: b.foodId, productId: b.productId, amount: b.amount ?? 1, unit, packages: b.packages, aisle: b.aisle, estimatedCost: b.cost, storeId: b.storeId,
      note: b.problem.slice(0, 240), forStock: b.needs.some((n) => !n.key),
    };
    const item = was ? SDK.Entities.ShoppingItem.patch(was.id, model) : SDK.Entities.ShoppingItem.upsert({ ...model, listId: to.id });
    keep.add(item.id);
    if (was) SDK.Entities.ShoppingNeed.deleteMany(was.needs.map((n) => n.id));
    const needs = b.needs.filter((n) => n.key);
    if (needs.length) SDK.Entities.ShoppingNeed.upsertMany(needs.map((n) => ({ itemId: item.id, mealId: n.key, amount: n.amount ?? 0, unit: n.unit ?? unit })));
    items.push({ itemId: item.id, name: b.name, aisle: b.aisle, text: (b.packages ? b.packages + " x " + b.product + " (" + b.text + ")" : b.text), product: b.product, packages: b.packages, cost: b.cost, ...(b.storeId ? { storeId: b.storeId } : {}), for: [...new Set(b.needs.map((n) => (n.key ? title.get(n.key) : STOCK)))], problem: b.problem });
  }
  const gone = made.filter((i) => !keep.has(i.id)).map((i) => i.id);
  if (gone.length) SDK.Entities.ShoppingItem.deleteMany(gone);

  const aisles = store ? SDK.Entities.Store.getById(store).aisles ?? [] : [];
  const rank = (/** @type {string} */ a) => (aisles.includes(a) ? aisles.indexOf(a) : aisles.length);
  items.sort((a, b) => rank(a.aisle) - rank(b.aisle) || (a.aisle < b.aisle ? -1 : a.aisle > b.aisle ? 1 : a.name < b.name ? -1 : 1));
  const priced = items.filter((i) => i.cost !== null);
  return {
    listId: to.id, name: to.name, items, meals: meals.length,
    estimatedCost: priced.length ? Math.round(priced.reduce((sum, i) => sum + Math.round((i.cost ?? 0) * 100), 0)) / 100 : null,
    withoutPrice: items.filter((i) => i.cost === null).map((i) => i.name),
  };
};

const OWN = "Shopping from ", STOCK = "always in the house";

/**
 * The open list that is brought up to date: one that this action made, and no other that somebody keeps by hand.
 * @type {(o: { planId?: string, name?: string, toBuy: (SDK.Entities.ShoppingItem & { needs: SDK.Entities.ShoppingNeed[] })[] }) => SDK.Entities.ShoppingList | undefined}
 */
const openList = ({ planId, name, toBuy }) => {
  const open = SDK.Entities.ShoppingList.all({ filter: { status: "open" }, sort: "-createdAt" });
  if (name) return open.find((l) => l.name === name && l.planId === (planId ?? null));
  const ours = open.filter((l) => l.planId || l.name.startsWith(OWN) || toBuy.some((i) => i.listId === l.id && (i.needs.length || i.forStock)));
  const all = ours.find((l) => !l.planId);
  return planId ? ours.find((l) => l.planId === planId) ?? all : all ?? ours[0];
};

/** @type {(day: string, days: number) => string} */
const plus = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

/**
 * Refuses a store that there is not.
 * @type {(id: string) => void}
 */
const checkStore = (id) => {
  if (!SDK.Entities.Store.findById(id)) refuse("/storeId", 'There is no store "' + id + '".', "The stores are: " + SDK.Entities.Store.all({ sort: "name" }).map((s) => s.id).join(", ") + ".");
};

/**
 * Refuses a text that is not a day of the calendar, is past, or is more than a year ahead.
 * @type {(path: string, day: string, today: string) => void}
 */
const checkDay = (path, day, today) => {
  const at = new Date(Date.parse(day));
  if (Number.isNaN(at.getTime()) || at.toISOString().slice(0, 10) !== day) refuse(path, day + " is not a day of the calendar.", "Send a day such as " + today + ".");
  if (day < today) refuse(path, day + " is before today, " + today + ".", "Send today or a later day.");
  if (day > plus(today, 366)) refuse(path, day + " is more than a year ahead.", "Send a day before " + plus(today, 366) + ".");
};

// Something changes: somebody cannot come, guests do, a meal moves or falls out. The list follows.
export const action = {
  title: "Change a planned meal",
  description: "Changes a planned meal when somebody cannot come or guests do: fewer or more people, another day or recipe, or not at all. Swaps with the meal of the new day; the open shopping list follows.",
  input: {
    type: "object",
    properties: {
      mealId: { type: "string", description: "One dish of a meal." },
      date: { type: "string", format: "date", description: "Without mealId: the day whose meal changes, with all of its dishes; without both, today." },
      meal: { enum: ["breakfast", "lunch", "dinner", "snack"], default: "dinner" },
      servings: { type: "number", exclusiveMinimum: 0, maximum: 100, description: "The new portions." },
      absent: { type: "array", items: { type: "string", maxLength: 120, pattern: "\\S" }, maxItems: 50, description: "Members who do not eat." },
      guests: { type: "number", minimum: 0, maximum: 100, description: "Portions for guests, more than now." },
      to: { type: "string", format: "date", description: "Another day." },
      recipe: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name of another recipe." },
      anyway: { type: "boolean", default: false, description: "Though somebody is allergic." },
      skip: { type: "boolean", default: false, description: "The meal falls out." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["mealId", "name", "date", "servings", "status", "list"],
    properties: {
      mealId: { type: "string" }, name: { type: "string" }, date: { type: "string" }, servings: { type: "number" }, status: { type: "string" },
      dishes: { type: "array", items: { type: "string" }, description: "Where the meal has several: all that changed." },
      conflicts: { type: "array", items: { type: "string" } },
      swapped: { type: ["string", "null"], description: "The meal that took its day." },
      list: { type: ["object", "null"], properties: { listId: { type: "string" }, items: { type: "integer" }, estimatedCost: { type: ["number", "null"] } } },
    },
  },
  effects: { destructive: true },
  examples: [{ guests: 2 }],
};

/** @typedef {SDK.Entities.PlannedMeal & { recipe: SDK.Entities.Recipe | null }} Dish */

/** @param {SDK.Actions.ReplanInput} input */
export default ({ mealId, date, meal = "dinner", servings, absent = [], guests, to, recipe, anyway = false, skip = false }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  if (date !== undefined) checkDay("/date", date, today);
  if (skip && (to !== undefined || recipe !== undefined || servings !== undefined || guests !== undefined)) {
    refuse("/skip", "A meal that falls out gets no other day, recipe or portions.", "Send skip, or what is to be different.");
  }
  /** @type {Dish[]} */
  const dishes = mealId ? [SDK.Entities.PlannedMeal.getById(mealId, { with: "recipe" })] : SDK.Entities.PlannedMeal.all({ filter: { date: date ?? today, mealType: meal, status: "planned" }, sort: "id", with: "recipe" });
  const [row] = dishes;
  if (!row) refuse("/date", "No " + meal + " is planned for " + (date ?? today) + ".", "Send the day of a planned meal, or its mealId.");
  if (row.status === "cooked") refuse("/mealId", "The meal of " + row.date + " is cooked already.", "Send the mealId of a meal that is planned.");
  if (recipe && dishes.length > 1) refuse("/recipe", "The " + meal + " of " + row.date + " has several dishes: " + dishes.map(named).join(", ") + ".", "Send the mealId of the one that changes.");
  const fewer = absent.length ? portionsOf(absent) : 0, people = servings !== undefined || absent.length > 0 || guests !== undefined;
  const changes = dishes.map((d) => {
    /** @type {SDK.Entities.PlannedMealInput} */
    const one = {};
    const n = (servings ?? d.servings) - fewer + (guests ?? 0);
    if (people && n > MOST) refuse(guests ? "/guests" : "/servings", "That makes " + n + " portions, more than the " + MOST + " that a meal is planned for.", "Send less.");
    if (skip || (people && n <= 0)) one.status = "skipped";
    if (people && n > 0) one.servings = n;
    return one;
  });
  if (recipe) {
    const found = SDK.Actions.findRecipe({ recipe });
    if (!found.recipeId) refuse("/recipe", found.problem, found.hint);
    Object.assign(changes[0], { recipeId: found.recipeId }, row.recipeId ? {} : { leftoverId: null, name: "" });
  }
  const cooked = dishes.flatMap((d, i) => {
    const recipeId = changes[i].recipeId ?? d.recipeId;
    return changes[i].status || !recipeId ? [] : [{ key: d.id, recipeId, servings: changes[i].servings ?? d.servings }];
  });
  const suits = cooked.length ? SDK.Actions.coverMeals({ meals: cooked, absent }).meals : [];
  if (recipe && suits[0]?.allergies.length && !anyway) {
    refuse("/recipe", suits[0].name + " does not suit everybody: " + suits[0].allergies.join("; ") + ".", "Send another recipe, who is absent, or anyway: true.");
  }
  let swapped = null;
  if (to && to !== row.date) {
    checkDay("/to", to, today);
    const others = SDK.Entities.PlannedMeal.all({ filter: { date: to, mealType: row.mealType, status: "planned" }, sort: "id", with: "recipe" });
    // A meal swaps with the meal of the other day. One dish of several goes alone, and is one more there.
    const alone = mealId && (others.length > 1 || SDK.Entities.PlannedMeal.count({ date: row.date, mealType: row.mealType, status: { $ne: "skipped" }, id: { $ne: row.id } }) > 0);
    for (const other of alone ? [] : others) {
      reach(other.planId, row.date);
      SDK.Entities.PlannedMeal.patch(other.id, { date: row.date });
      swapped = swapped ? swapped + ", " + named(other) : named(other);
    }
    dishes.forEach((d, i) => {
      reach(d.planId, to);
      changes[i].date = to;
    });
  }
  if (!Object.keys(changes[0]).length) refuse("/servings", "The input changes nothing.", "Send servings, absent, guests, to, recipe or skip.");
  dishes.forEach((d, i) => SDK.Entities.PlannedMeal.patch(d.id, changes[i], { ifVersion: d.version }));
  const now = SDK.Entities.PlannedMeal.getById(row.id, { with: "recipe" });
  const open = SDK.Entities.ShoppingList.firstPage(1, { filter: { status: "open", ...(now.planId ? { $or: [{ planId: now.planId }, { planId: null }] } : { planId: null }), items: { $some: { needs: { $exists: true } } } }, sort: "-createdAt", count: false }).items[0];
  const list = open ? SDK.Actions.shop({ listId: open.id }) : null;
  return {
    mealId: now.id, name: named(now), date: now.date, servings: now.servings, status: now.status, ...(dishes.length > 1 ? { dishes: dishes.map(named) } : {}),
    conflicts: [...new Set(suits.flatMap((s) => s.conflicts))], swapped, list: list ? { listId: list.listId, items: list.items.length, estimatedCost: list.estimatedCost } : null,
  };
};

/** What is eaten. */
const named = (/** @type {Dish} */ d) => d.recipe?.name ?? d.name ?? "";

/** What members eat who do not come. */
const portionsOf = (/** @type {string[]} */ absent) => {
  const members = /** @type {{ name: string, portion: number }[]} */ (SDK.Entities.Household.findById("household")?.members ?? []);
  const away = new Set(absent.map((name, i) => {
    const m = members.find((x) => x.name.toLowerCase() === name.trim().toLowerCase());
    if (!m) refuse("/absent/" + i, 'Nobody here is called "' + name + '".', members.length ? "There are " + members.map((x) => x.name).join(", ") + "." : "The household names its members.");
    return m;
  }));
  return [...away].reduce((sum, m) => sum + m.portion, 0);
};

/** A plan reaches as far as its meals do. */
const reach = (/** @type {string | null} */ planId, /** @type {string} */ day) => {
  const plan = planId ? SDK.Entities.MealPlan.getById(planId) : null;
  if (plan && day < plan.start) SDK.Entities.MealPlan.patch(plan.id, { start: day });
  if (plan && day > plan.end) SDK.Entities.MealPlan.patch(plan.id, { end: day });
};

const MOST = 100; // portions of a planned meal
/** @type {(day: string, days: number) => string} */
const plus = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

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

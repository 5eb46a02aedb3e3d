// A meal was cooked: what it took leaves the stock, what is left comes in.
export const action = {
  title: "A meal was cooked",
  description: "Takes what a cooked meal needed out of the stock, oldest lots first; keeps leftovers, counts the recipe. Of a meal of leftovers it takes those.",
  input: {
    type: "object",
    properties: {
      mealId: { type: "string", description: "The planned meal." },
      recipe: { type: "string", maxLength: 120, pattern: "\\S", description: "Without mealId: id or name of the recipe." },
      date: { type: "string", format: "date", description: "Without it, today." },
      servings: { type: "number", minimum: 0.1, maximum: 100, description: "Portions cooked; without it, as planned." },
      leftovers: { type: "number", minimum: 0, maximum: 100, description: "Portions that are left; without it, those cooked ahead." },
      freeze: { type: "boolean", default: false, description: "The leftovers go to the freezer." },
      rating: { type: "integer", minimum: 1, maximum: 5 },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["mealId", "name", "took", "notThere"],
    properties: {
      mealId: { type: "string" }, name: { type: "string" }, servings: { type: "number" },
      took: { type: "array", items: { type: "object", properties: { lotId: { type: "string" }, name: { type: "string" }, text: { type: "string" }, left: { type: "number" }, unit: { type: "string" } } } },
      notThere: { type: "array", items: { type: "string" }, description: "What the stock does not have." },
      leftoverId: { type: ["string", "null"] },
      kept: { type: "array", items: { type: "object" }, description: "Leftovers: leftoverId, servings, place" },
      ate: { type: ["object", "null"], required: ["leftoverId", "servings", "left"], properties: { leftoverId: { type: "string" }, servings: { type: "number" }, left: { type: "number" } }, description: "The leftover that the meal was, and what is left of it." },
    },
  },
  effects: {},
  examples: [{ recipe: "Chickpea and Spinach Curry" }],
};

const FRIDGE = 3; // days that cooked food keeps there: what is for later goes to the freezer

/** @param {SDK.Actions.CookedInput} input */
export default ({ mealId, recipe, servings, date, leftovers, freeze = false, rating }) => {
  if (!mealId && !recipe) refuse("/recipe", "The input says no meal.", "Send mealId, or recipe.");
  if (mealId && recipe) refuse("/recipe", "A planned meal has its recipe.", "Send mealId, or recipe.");
  const { today, portions } = SDK.Actions.stow({ foodIds: [] });
  const day = date ?? today;
  if (date !== undefined) checkPast("/date", date, today);
  /** @type {(SDK.Entities.PlannedMeal & { recipe: SDK.Entities.Recipe | null }) | null} */
  let meal = mealId ? SDK.Entities.PlannedMeal.getById(mealId, { with: "recipe" }) : null;
  if (!meal) {
    const r = SDK.Entities.Recipe.getById(meant(recipe ?? ""));
    const there = SDK.Entities.PlannedMeal.all({ filter: { recipeId: r.id, date: day, status: { $ne: "skipped" } }, with: "recipe", sort: "id" });
    const done = there.find((m) => m.status === "cooked");
    meal = there.find((m) => m.status === "planned") ?? null;
    // Two people at one table both note it: what was cooked once leaves the stock once.
    if (!meal && done) refuse("/recipe", r.name + " of " + day + " is noted as cooked already.", "Was it cooked once more? Then make a PlannedMeal of it, and send its mealId.");
    meal ??= { ...SDK.Entities.PlannedMeal.upsert({ recipeId: r.id, date: day, mealType: mealOf(r), servings: servings ?? portions }), recipe: r };
  }
  const dish = meal.recipe, called = dish?.name ?? meal.name ?? "";
  if (meal.status === "cooked") refuse("/mealId", called + " of " + meal.date + " is noted as cooked already.", "Send the mealId of a meal that is planned; an undo takes back what was noted by mistake.");
  const cooked = servings ?? meal.servings;
  const note = { status: /** @type {const} */ ("cooked"), servings: cooked, ...(date ? { date } : {}), ...(rating === undefined ? {} : { rating }) };
  if (!dish) {
    if (leftovers) refuse("/leftovers", called + " has no recipe: nothing is cooked, and nothing is left.", "Send servings: the portions that were eaten.");
    const ate = meal.leftoverId ? eat(meal.leftoverId, cooked) : null;
    SDK.Entities.PlannedMeal.patch(meal.id, note);
    return { mealId: meal.id, name: called, servings: cooked, took: [], notThere: [], leftoverId: null, kept: [], ate };
  }
  const eaten = Math.max(0, meal.servings - (meal.forLater ?? 0)), left = leftovers ?? (meal.forLater > 0 ? Math.max(0, cooked - eaten) : 0);
  if (left > cooked) refuse("/leftovers", "There cannot be " + left + " portions left of " + cooked + ".", "Send at most " + cooked + ".");
  const [c] = SDK.Actions.coverMeals({ meals: [{ key: meal.id, recipeId: dish.id, servings: cooked, date: day }] }).meals;
  for (const u of c.uses) {
    SDK.Entities.PantryItem.patch(u.lotId, { amount: u.left, reason: "cooked", mealId: meal.id, ...(u.left > 0 ? {} : { status: "consumed" }) });
  }
  SDK.Entities.PlannedMeal.patch(meal.id, note);
  if (rating !== undefined) SDK.Entities.Recipe.patch(dish.id, { rating });
  // What was cooked ahead is eaten meal by meal, and the fridge is good for some of them.
  const cold = freeze ? 0 : leftovers === undefined && eaten > 0 ? Math.min(left, FRIDGE * eaten) : left;
  const kept = /** @type {["fridge" | "freezer", number][]} */ ([["fridge", cold], ["freezer", left - cold]]).filter(([, n]) => n > 0).map(([place, n]) => {
    const row = SDK.Entities.Leftover.upsert({ name: dish.name, servings: n, place, cookedOn: day, mealId: meal.id });
    return { leftoverId: row.id, servings: n, place };
  });
  return {
    mealId: meal.id, name: dish.name, servings: cooked,
    took: c.uses.map((u) => ({ lotId: u.lotId, name: u.name, text: u.text, left: u.left, unit: u.unit })),
    notThere: [...c.missing.map((l) => l.say), ...c.unclear.map((l) => l.name + ": " + l.problem)],
    leftoverId: kept[0]?.leftoverId ?? null, kept, ate: null,
  };
};

/** Takes portions of what is left of another meal. */
const eat = (/** @type {string} */ leftoverId, /** @type {number} */ servings) => {
  const row = SDK.Entities.Leftover.getById(leftoverId);
  const there = row.status === "available" ? row.servings : 0;
  if (there < servings) refuse("/servings", "Of " + row.name + (there === 1 ? " 1 portion is" : " " + there + " portions are") + " left, not " + servings + ".", "Send the portions that were eaten.");
  const left = Math.round((there - servings) * 1000) / 1000;
  SDK.Entities.Leftover.patch(row.id, { servings: left, ...(left > 0 ? {} : { status: "eaten" }) });
  return { leftoverId: row.id, servings, left };
};

/** The recipe that an id or name means. */
const meant = (/** @type {string} */ recipe) => {
  const found = SDK.Actions.findRecipe({ recipe });
  if (!found.recipeId) refuse("/recipe", found.problem, found.hint);
  return found.recipeId;
};

/** What a recipe is eaten as: pancakes that nobody had planned were breakfast. */
const mealOf = (/** @type {SDK.Entities.Recipe} */ r) => {
  const of = /** @type {SDK.Entities.PlannedMeal["mealType"][]} */ (r.mealTypes ?? []).filter((m) => ["breakfast", "lunch", "dinner", "snack", "dessert"].includes(m));
  return of.length && !of.includes("dinner") ? of[0] : "dinner";
};

/** @type {(day: string, days: number) => string} */
const plus = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

/**
 * Refuses a text that is not a day of the calendar, is yet to come, or is more than a year ago.
 * @type {(path: string, day: string, today: string) => void}
 */
const checkPast = (path, day, today) => {
  const at = new Date(Date.parse(day));
  if (Number.isNaN(at.getTime()) || at.toISOString().slice(0, 10) !== day) refuse(path, day + " is not a day of the calendar.", "Send a day such as " + today + ".");
  if (day > today) refuse(path, day + " is after today, " + today + ".", "Send today or an earlier day.");
  if (day < plus(today, -366)) refuse(path, day + " is more than a year ago.", "Send a day after " + plus(today, -366) + ".");
};

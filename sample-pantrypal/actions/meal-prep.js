// One recipe cooked at once for several days.
export const action = {
  title: "Cook ahead",
  description: "Plans to cook one recipe ahead for several meals: one big pot on the first day, portions for the days after. Says what to buy and whom it does not suit.",
  input: {
    type: "object",
    properties: {
      recipe: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name; without it, the batch recipe that needs the least shopping." },
      meals: { type: "integer", minimum: 2, maximum: 14, default: 4, description: "How many meals, the first on the day of cooking." },
      servings: { type: "number", exclusiveMinimum: 0, maximum: 100, description: "Of each meal; without it, those of the household." },
      start: { type: "string", format: "date", description: "Without it, today." },
      meal: { enum: ["breakfast", "lunch", "dinner", "snack"], default: "lunch" },
      anyway: { type: "boolean", default: false, description: "Though somebody is allergic." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["mealId", "recipeId", "name", "servings", "toBuy", "portions"],
    properties: {
      mealId: { type: "string" }, recipeId: { type: "string" }, name: { type: "string" }, date: { type: "string" }, servings: { type: "number" },
      toBuy: { type: "array", items: { type: "string" } },
      conflicts: { type: "array", items: { type: "string" } },
      portions: { type: "array", items: { type: "object", properties: { date: { type: "string" }, place: { type: "string" }, servings: { type: "number" } } } },
    },
  },
  effects: {},
  examples: [{ meals: 3 }],
};

/** @type {(day: string, days: number) => string} */
const plus = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);
const FRIDGE = 3; // days that cooked food keeps in the fridge
const MOST = 100; // portions of a planned meal

/** @param {SDK.Actions.MealPrepInput} input */
export default ({ recipe, meals = 4, servings, start, meal = "lunch", anyway = false }) => {
  const stow = SDK.Actions.stow({ foodIds: [] });
  const date = start ?? stow.today, each = servings ?? stow.portions, all = each * meals;
  checkDay("/start", date, stow.today);
  if (all > MOST) refuse("/servings", meals + " meals of " + each + " portions are " + all + ", more than the " + MOST + " that one meal is planned for.", "Send fewer servings or meals.");
  const candidates = recipe ? [SDK.Entities.Recipe.getById(meant(recipe))] : SDK.Entities.Recipe.all({ filter: { tags: { $has: "batch" } } });
  if (!candidates.length) refuse("/recipe", "No recipe is marked as worth cooking in a batch.", "Send a recipe, or give one of your own the tag batch.");
  const cover = SDK.Actions.coverMeals({ meals: candidates.map((r) => ({ key: r.id, recipeId: r.id, servings: all, date })) });
  const best = cover.meals.filter((m) => recipe || !m.conflicts.length).sort((a, b) => a.missing.length / a.needed - b.missing.length / b.needed || (a.name < b.name ? -1 : 1))[0];
  if (!best) refuse("/recipe", "No batch recipe suits everybody.", "Send the recipe to cook.");
  if (best.allergies.length && !anyway) refuse("/recipe", best.name + " does not suit everybody: " + best.allergies.join("; ") + ".", "Send another recipe, or anyway: true.");
  const freezer = candidates.find((r) => r.id === best.recipeId)?.tags?.includes("freezer");
  const late = (/** @type {number} */ i) => i > FRIDGE;
  if (!freezer && meals - 1 > FRIDGE) refuse("/meals", best.name + " keeps " + FRIDGE + " days in the fridge and does not freeze well.", "Plan at most " + (FRIDGE + 1) + " meals of it.");
  const row = SDK.Entities.PlannedMeal.upsert({
    recipeId: best.recipeId, date, mealType: meal, servings: all, forLater: all - each, notes: "Cooked ahead for " + meals + " meals of " + each + " portions.",
  });
  return {
    mealId: row.id, recipeId: best.recipeId, name: best.name, date, servings: all,
    toBuy: best.missing.map((l) => l.say), conflicts: best.conflicts,
    portions: Array.from({ length: meals }, (_, i) => ({ date: plus(date, i), place: i === 0 ? "table" : late(i) ? "freezer" : "fridge", servings: each })),
  };
};

/** The recipe that an id or name means. */
const meant = (/** @type {string} */ recipe) => {
  const found = SDK.Actions.findRecipe({ recipe });
  if (!found.recipeId) refuse("/recipe", found.problem, found.hint);
  return found.recipeId;
};

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

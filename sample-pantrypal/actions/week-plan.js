// Meals for some days: by the household's rules, time, allergies and budget, with what expires first.
export const action = {
  title: "Plan the week",
  description: "Plans meals for the next days: keeps the household's rules (fish on Friday, not twice in ten days), allergies, dislikes, time and budget, uses what expires soon first. Days that have a meal already keep it. The shopping list follows with shop.",
  input: {
    type: "object",
    properties: {
      start: { type: "string", format: "date", description: "The first day; without it, today." },
      days: { type: "integer", minimum: 1, maximum: 31, default: 7 },
      meal: { enum: ["breakfast", "lunch", "dinner", "snack"], default: "dinner" },
      servings: { type: "number", exclusiveMinimum: 0, maximum: 100, description: "Portions of each meal; without it, those of the household." },
      budget: { type: "number", minimum: 0, maximum: 100000, description: "For what has to be bought; without it, the household's weekly budget by days." },
      name: { type: "string", minLength: 1, maxLength: 120 },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["planId", "meals", "cost", "notes"],
    properties: {
      planId: { type: ["string", "null"] }, name: { type: "string" },
      meals: { type: "array", items: { type: "object", required: ["mealId", "date", "recipeId", "name"], properties: { mealId: { type: "string" }, date: { type: "string" }, weekday: { type: "string" }, recipeId: { type: "string" }, name: { type: "string" }, minutes: { type: "integer" }, servings: { type: "number" }, usesSoon: { type: "array", items: { type: "string" } }, toBuy: { type: "array", items: { type: "string" } }, kept: { type: "boolean" } } } },
      cost: { type: ["number", "null"], description: "Of what has to be bought and has a price." },
      budget: { type: ["number", "null"] },
      notes: { type: "array", items: { type: "string" } },
    },
  },
  effects: {},
  examples: [{ days: 3 }],
};

const DAY = 86400000, SOON = 5;
const plus = (day, days) => new Date(Date.parse(day) + days * DAY).toISOString().slice(0, 10);
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const weekdayOf = (day) => WEEKDAYS[new Date(Date.parse(day)).getUTCDay()];

export default ({ start, days = 7, meal = "dinner", servings, budget, name }) => {
  const stow = SDK.Actions.stow({ foodIds: [] });
  if (start !== undefined) checkDay("/start", start, stow.today);
  const first = start ?? stow.today, last = plus(first, days - 1);
  const portions = servings ?? stow.portions;
  const home = SDK.Entities.Household.findById("household");
  const limit = budget ?? (home?.weeklyBudget != null ? (home.weeklyBudget * days) / 7 : null);
  const rules = SDK.Entities.PlanRule.all({ filter: { active: true } });
  const named = rules.filter((r) => r.what && (r.kind === "want" || r.kind === "avoid"));
  const foods = named.length ? SDK.Actions.findFood({ names: named.map((r) => r.what) }).found : [];
  const foodOf = new Map(named.map((r, i) => [r.id, foods[i].food?.id]));

  const recipes = SDK.Entities.Recipe.all({ filter: { mealTypes: { $has: meal } }, fields: ["id", "name", "cuisine", "tags", "dietaryTags", "rating", "favourite", "prepMinutes", "cookMinutes"], sort: "name" });
  const of = new Map(recipes.map((r) => [r.id, r]));
  // What was or will be eaten around these days.
  const repeat = Math.max(0, ...rules.filter((r) => r.kind === "no-repeat").map((r) => r.days ?? 0));
  const around = SDK.Entities.PlannedMeal.all({ filter: { date: { $gte: plus(first, -Math.max(repeat, 3)), $lte: plus(last, Math.max(repeat, 3)) }, status: { $ne: "skipped" } }, with: "recipe", sort: "date,id" });
  const fits = (rule, r, m) => {
    return m.foodIds.includes(foodOf.get(rule.id)) || m.aisles.includes(rule.what.toLowerCase()) || isCalled(rule.what, r);
  };

  const chosen = [], notes = [], kept = [];
  for (const r of named) {
    if (!foodOf.get(r.id) && !recipes.some((x) => isCalled(r.what, x)) && !isAisle(r.what)) notes.push('"' + r.name + '" has no effect: no food, aisle, cuisine or tag is called "' + r.what + '".');
  }
  const apart = Math.max(repeat, 3), near = (a, b) => Math.abs(Date.parse(a) - Date.parse(b)) < apart * DAY;
  for (let i = 0; i < days; i++) {
    const date = plus(first, i), weekday = weekdayOf(date);
    const there = around.find((m) => m.date === date && m.mealType === meal);
    if (there) {
      kept.push(there);
      chosen.push({ date, weekday, kept: there, recipeId: there.recipeId, servings: there.servings });
      continue;
    }
    const today = rules.filter((r) => !r.weekdays?.length || r.weekdays.includes(weekday));
    const weekend = weekday === "saturday" || weekday === "sunday";
    const minutes = Math.min(weekend ? home?.weekendMinutes ?? 90 : home?.weekdayMinutes ?? 45, ...today.filter((r) => r.kind === "max-minutes" && r.minutes).map((r) => r.minutes));
    const free = recipes.filter((r) => r.prepMinutes + r.cookMinutes <= minutes && !around.some((m) => m.recipeId === r.id && near(m.date, date)));
    const cover = SDK.Actions.coverMeals({
      before: chosen.filter(takes).map((c) => ({ key: c.date, recipeId: c.recipeId, servings: c.servings, date: c.date })),
      meals: free.map((r) => ({ key: r.id, recipeId: r.id, servings: portions, date })),
    });
    const suits = cover.meals.filter((m) => !m.conflicts.length && today.every((r) => r.kind !== "avoid" || !r.what || !fits(r, of.get(m.recipeId), m)));
    const wants = today.filter((r) => r.kind === "want" && r.what);
    const wanted = suits.filter((m) => wants.every((r) => fits(r, of.get(m.recipeId), m)));
    if (wants.length && !wanted.length) notes.push(date + ": nothing keeps " + wants.map((r) => '"' + r.name + '"').join(" and ") + ".");
    const ranked = (wanted.length ? wanted : suits).map((m) => {
      const r = of.get(m.recipeId);
      const cuisine = chosen.some((c) => c.cuisine === r.cuisine) ? 0.2 : 0;
      return { r, score: 1 - (m.missing.length + m.unclear.length) / Math.max(m.needed, 1) + Math.min(soon(m, date).length, 3) / 3 + (r.rating ?? 0) / 20 + (r.favourite ? 0.15 : 0) - cuisine };
    }).sort((a, b) => b.score - a.score || (a.r.name < b.r.name ? -1 : 1)).map((x) => x.r);
    const best = ranked.find((r) => !chosen.some((c) => c.recipeId === r.id && near(c.date, date)));
    if (!best) {
      notes.push(date + ": no recipe for " + meal + " suits everybody within " + minutes + " minutes.");
      continue;
    }
    chosen.push({ date, weekday, recipeId: best.id, servings: portions, cuisine: best.cuisine, recipes: ranked.map((r) => r.id) });
  }

  // Of what suits each day, the best that the budget allows for all of them.
  const shopping = chosen.filter(takes);
  const choice = SDK.Actions.chooseMeals({
    days: shopping.map((c) => ({ date: c.date, servings: c.servings, fixed: !!c.kept, recipes: c.recipes ?? [c.recipeId] })), apart, ...(limit === null ? {} : { budget: limit }),
  });
  shopping.forEach((c, i) => { c.recipeId = choice.recipes[i]; });
  if (!choice.within) notes.push("What has to be bought costs " + choice.cost.toFixed(2) + ", more than the budget of " + limit.toFixed(2) + ": " + (choice.cheapest ? "no plan that keeps the rules costs less." : "nothing cheaper was found."));
  if (limit !== null && choice.unpriced.length) notes.push("No price is known of " + choice.unpriced.join(", ") + ": what they cost is not in the sum.");

  const fresh = chosen.filter((c) => !c.kept);
  const plan = fresh.length ? SDK.Entities.MealPlan.upsert({ name: name ?? "Meals from " + first, start: first, end: last }) : null;
  const rows = fresh.length ? SDK.Entities.PlannedMeal.upsertMany(fresh.map((c) => ({ planId: plan.id, recipeId: c.recipeId, date: c.date, mealType: meal, servings: c.servings }))) : [];
  for (const m of kept) if (plan && !m.planId && m.status === "planned") SDK.Entities.PlannedMeal.patch(m.id, { planId: plan.id });
  const cover = SDK.Actions.coverMeals({ meals: shopping.map((c) => ({ key: c.date, recipeId: c.recipeId, servings: c.servings, date: c.date })), together: true });
  const meals = chosen.map((c) => {
    const m = cover.meals.find((x) => x.key === c.date);
    return {
      mealId: c.kept ? c.kept.id : rows[fresh.indexOf(c)].id, date: c.date, weekday: c.weekday, recipeId: c.recipeId, name: c.kept ? c.kept.recipe.name : of.get(c.recipeId).name,
      minutes: m?.minutes ?? 0, servings: c.servings, usesSoon: m && !c.kept ? soon(m, c.date) : [], toBuy: m ? m.missing.map((l) => l.name) : [], kept: !!c.kept,
    };
  });
  return { planId: plan?.id ?? null, name: plan?.name ?? "", meals, cost: choice.cost, budget: limit === null ? null : Math.round(limit * 100) / 100, notes };
};

/** Whether a name is the cuisine or a tag of a recipe. */
const isCalled = (name, r) => [r.cuisine, ...(r.tags ?? []), ...(r.dietaryTags ?? [])].includes(name.toLowerCase());

/** Whether shops have foods in an aisle of this name. */
const isAisle = (name) => SDK.Entities.Food.count({ aisle: name.toLowerCase() }) > 0;

/** What of a meal would go off soon. */
const soon = (m, date) => [...new Set(m.uses.filter((u) => u.bestBefore && u.bestBefore <= plus(date, SOON)).map((u) => u.name))];

/** Refuses the input at a path, and says what to send instead. */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

/** Refuses what is no day of the calendar, is past, or is more than a year ahead. */
const checkDay = (path, day, today) => {
  const at = new Date(Date.parse(day));
  if (Number.isNaN(at.getTime()) || at.toISOString().slice(0, 10) !== day) refuse(path, day + " is no day of the calendar.", "Send a day such as " + today + ".");
  if (day < today) refuse(path, day + " is before today, " + today + ".", "Send today or a later day.");
  if (day > plus(today, 366)) refuse(path, day + " is more than a year ahead.", "Send a day before " + plus(today, 366) + ".");
};

/** Whether a meal takes something from the stock: one that is cooked has. */
const takes = (c) => !c.kept || c.kept.status === "planned";

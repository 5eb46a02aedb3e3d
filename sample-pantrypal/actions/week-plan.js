// Meals for some days: by the household's rules, time, allergies and budget, with what expires first.
export const action = {
  title: "Plan the week",
  description: "Plans meals for the next days: keeps the household's rules (fish on Friday), allergies, dislikes, time and budget, uses what expires soon first. Packed lunches: meal lunch, tags [lunchbox]. With leftovers: true, it plans what is left of other meals before it goes off. Days that have a meal already keep it.",
  input: {
    type: "object",
    properties: {
      start: { type: "string", format: "date", description: "The first day; without it, today." },
      days: { type: "integer", minimum: 1, maximum: 31, default: 7 },
      meal: { enum: ["breakfast", "lunch", "dinner", "snack"], default: "dinner" },
      servings: { type: "number", exclusiveMinimum: 0, maximum: 100, description: "Of each meal; without it, those of the household." },
      budget: { type: "number", minimum: 0, maximum: 100000, description: "For what has to be bought; without it, the household's weekly budget by days." },
      name: { type: "string", minLength: 1, maxLength: 120 },
      tags: { type: "array", maxItems: 20, items: { type: "string", maxLength: 40, pattern: "\\S" }, description: "Only recipes with all of these tags, diets or cuisines; lunchbox: what can be packed." },
      weekdays: { type: "array", minItems: 1, items: { enum: ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"] }, description: "Only on these; without it, on each day." },
      leftovers: { type: "boolean", default: false, description: "Plan what is left of other meals where it feeds everybody and would go off within these days." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["planId", "meals", "cost", "notes"],
    properties: {
      planId: { type: ["string", "null"] }, name: { type: "string" },
      meals: { type: "array", items: { type: "object", required: ["mealId", "date", "recipeId", "name"], properties: { mealId: { type: "string" }, date: { type: "string" }, weekday: { type: "string" }, recipeId: { type: ["string", "null"], description: "null: no recipe, as of leftovers or eating out." }, name: { type: "string" }, minutes: { type: "integer" }, servings: { type: "number" }, usesSoon: { type: "array", items: { type: "string" } }, toBuy: { type: "array", items: { type: "string" } }, kept: { type: "boolean" } } } },
      cost: { type: ["number", "null"], description: "Of what has to be bought and has a price." },
      budget: { type: ["number", "null"] },
      notes: { type: "array", items: { type: "string" } },
      leftovers: { type: "array", items: { type: "object" }, description: "What leftovers: true would plan: leftoverId, name, servings, bestBefore." },
    },
  },
  effects: {},
  examples: [{ days: 3 }],
};

const DAY = 86400000, SOON = 5, NAMED = 4;
/** @type {(day: string, days: number) => string} */
const plus = (day, days) => new Date(Date.parse(day) + days * DAY).toISOString().slice(0, 10);
const WEEKDAYS = /** @type {const} */ (["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"]);
const weekdayOf = (/** @type {string} */ day) => WEEKDAYS[new Date(Date.parse(day)).getUTCDay()];

/** @typedef {SDK.Entities.PlannedMeal & { recipe: SDK.Entities.Recipe | null }} Meal */
/** @typedef {SDK.Actions.FindLeftoversOutput["leftovers"][number]} Left */
/** @typedef {{ date: string, weekday: string, recipeId: string, servings: number, kept?: Meal, left?: Left, cuisine?: string, recipes?: string[] }} Choice */

/** @param {SDK.Actions.WeekPlanInput} input */
export default ({ start, days = 7, meal = "dinner", servings, budget, name, tags, weekdays, leftovers = false }) => {
  const stow = SDK.Actions.stow({ foodIds: [] });
  if (start !== undefined) checkDay("/start", start, stow.today);
  const first = start ?? stow.today, last = plus(first, days - 1);
  if (weekdays && !Array.from({ length: days }, (_, i) => weekdayOf(plus(first, i))).some((d) => weekdays.includes(d))) {
    refuse("/weekdays", "None of the days from " + first + " to " + last + " is one of these.", "Send more days, another start, or other weekdays.");
  }
  const portions = servings ?? stow.portions;
  const home = SDK.Entities.Household.findById("household");
  const limit = budget ?? (home?.weeklyBudget != null ? (home.weeklyBudget * days) / 7 : null);
  const there = SDK.Entities.PlannedMeal.all({ filter: { mealType: meal, date: { $gte: first, $lte: last }, status: { $ne: "skipped" } }, with: "recipe", sort: "date,id" });

  /** @type {Choice[]} */
  const chosen = [];
  const notes = /** @type {string[]} */ ([]), kept = /** @type {Meal[]} */ ([]);
  const left = SDK.Actions.findLeftovers({ date: first }).leftovers.filter((l) => !l.conflicts.length && l.servings >= portions && l.bestBefore && l.bestBefore <= last);
  const uneaten = leftovers ? [] : left.splice(0);
  let apart = 1;
  for (let i = 0; i < days; i++) {
    const date = plus(first, i), weekday = weekdayOf(date);
    const dishes = there.filter((m) => m.date === date);
    kept.push(...dishes);
    chosen.push(...dishes.map((m) => ({ date, weekday, kept: m, recipeId: m.recipeId ?? "", servings: m.servings })));
    if (dishes.some((m) => !beside(m)) || (weekdays && !weekdays.includes(weekday))) continue;
    const day = mealsOf({
      date, meal, servings: portions, ...(tags ? { tags } : {}), before: chosen.filter(cooks).map((c) => ({ key: c.date, recipeId: c.recipeId, servings: c.servings, date: c.date })),
    });
    apart = day.apart;
    for (const idle of day.idle) if (!notes.includes(idle)) notes.push(idle);
    const eaten = day.wanted.length ? undefined : left.find((l) => (l.bestBefore ?? "") >= date); // a rule may want something else
    if (eaten) {
      left.splice(left.indexOf(eaten), 1);
      chosen.push({ date, weekday, recipeId: "", servings: portions, left: eaten });
      continue;
    }
    if (day.unkept.length) notes.push(date + ": nothing keeps " + day.unkept.map((name) => '"' + name + '"').join(" and ") + ".");
    const ranked = day.meals.map((m) => {
      const cuisine = chosen.some((c) => c.cuisine === m.cuisine) ? 0.2 : 0;
      return { m, score: 1 - (m.missing.length + m.unclear.length) / Math.max(m.needed, 1) + Math.min(soon(m, date).length, 3) / 3 + (m.rating ?? 0) / 20 + (m.favourite ? 0.15 : 0) - cuisine };
    }).sort((a, b) => b.score - a.score || (a.m.name < b.m.name ? -1 : 1)).map((x) => x.m);
    const near = (/** @type {string} */ other) => Math.abs(Date.parse(other) - Date.parse(date)) < apart * DAY;
    const best = ranked.find((m) => !chosen.some((c) => c.recipeId === m.recipeId && near(c.date)));
    if (!best) {
      const out = [...day.ruledOut, ...ranked.map((m) => ({ rule: day.apartBy, name: m.name }))];
      notes.push(date + ": " + (out.length ? because(out) + ", and no other" : "no") + " recipe for " + meal + " suits everybody within " + day.within + ".");
      continue;
    }
    chosen.push({ date, weekday, recipeId: best.recipeId, servings: portions, cuisine: best.cuisine, recipes: ranked.map((m) => m.recipeId) });
  }

  // Of what suits each day, the best that the budget allows for all of them.
  const shopping = chosen.filter(takes);
  const choice = SDK.Actions.chooseMeals({
    days: shopping.map((c) => ({ date: c.date, servings: c.servings, fixed: !!c.kept, recipes: c.recipes ?? [c.recipeId] })), apart, ...(limit === null ? {} : { budget: limit }),
  });
  shopping.forEach((c, i) => { c.recipeId = choice.recipes[i]; });
  if (!choice.within) notes.push("What has to be bought costs " + (choice.cost ?? 0).toFixed(2) + ", more than the budget of " + (limit ?? 0).toFixed(2) + ": " + (choice.cheapest ? "no plan that keeps the rules costs less." : "nothing cheaper was found."));
  if (limit !== null && choice.unpriced.length) notes.push("No price is known of " + choice.unpriced.join(", ") + ": what they cost is not in the sum.");

  const fresh = chosen.filter((c) => !c.kept);
  const plan = fresh.length ? SDK.Entities.MealPlan.upsert({ name: name ?? "Meals from " + first, start: first, end: last }) : null;
  const rows = fresh.length ? SDK.Entities.PlannedMeal.upsertMany(fresh.map((c) => ({ planId: plan?.id, ...(c.left ? { leftoverId: c.left.leftoverId } : { recipeId: c.recipeId }), date: c.date, mealType: meal, servings: c.servings }))) : [];
  for (const m of kept) if (plan && !m.planId && m.status === "planned") SDK.Entities.PlannedMeal.patch(m.id, { planId: plan.id });
  const keyOf = (/** @type {Choice} */ c) => String(chosen.indexOf(c));
  const cover = SDK.Actions.coverMeals({ meals: shopping.map((c) => ({ key: keyOf(c), recipeId: c.recipeId, servings: c.servings, date: c.date })), together: true });
  const meals = chosen.map((c) => {
    const m = cover.meals.find((x) => x.key === keyOf(c));
    return {
      mealId: c.kept ? c.kept.id : rows[fresh.indexOf(c)].id, date: c.date, weekday: c.weekday, recipeId: c.recipeId || null, name: c.left?.name ?? (c.kept ? c.kept.recipe?.name ?? c.kept.name : m?.name) ?? "",
      minutes: m?.minutes ?? 0, servings: c.servings, usesSoon: m && !c.kept ? soon(m, c.date) : [], toBuy: m ? m.missing.map((l) => l.name) : [], kept: !!c.kept,
    };
  });
  return { planId: plan?.id ?? null, name: plan?.name ?? "", meals, cost: choice.cost, budget: limit === null ? null : Math.round(limit * 100) / 100, notes, leftovers: uneaten.map(({ leftoverId, name: of, servings: n, bestBefore }) => ({ leftoverId, name: of, servings: n, bestBefore })) };
};

/** What the day could have; a tag that no recipe has is refused. */
const mealsOf = (/** @type {SDK.Actions.DayMealsInput} */ input) => {
  try {
    return SDK.Actions.dayMeals(input);
  } catch (e) {
    const wrong = /** @type {KoanError} */ (e);
    if (wrong.path?.startsWith("/tags")) refuse(wrong.path, wrong.message, wrong.hint);
    throw e;
  }
};

/** Which rules leave out what would do. */
const because = (/** @type {{ rule: string, name: string }[]} */ out) => [...new Set(out.map((o) => o.rule))].map((rule) => {
  const names = [...new Set(out.filter((o) => o.rule === rule).map((o) => o.name))], more = names.length - NAMED;
  return rule + " rules out " + (more > 1 ? names.slice(0, NAMED).join(", ") + " and " + more + " others" : names.join(", ").replace(/, ([^,]*)$/, " and $1"));
}).join("; ");

/** What of a meal would go off soon. */
const soon = (/** @type {{ uses: { bestBefore: string | null, name: string }[] }} */ m, /** @type {string} */ date) => [...new Set(m.uses.filter((u) => u.bestBefore && u.bestBefore <= plus(date, SOON)).map((u) => u.name))];

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

/** Whether a dish is eaten beside another one: a side alone is no meal. */
const beside = (/** @type {Meal} */ m) => !!m.recipe?.mealTypes?.length && m.recipe.mealTypes.every((t) => t === "side" || t === "dessert");

/** Whether a meal is about to be planned by a recipe. */
const cooks = (/** @type {Choice} */ c) => !c.kept && !c.left;

/** Whether a meal takes something from the stock: one that is cooked has. */
const takes = (/** @type {Choice} */ c) => c.recipeId !== "" && (!c.kept || c.kept.status === "planned");

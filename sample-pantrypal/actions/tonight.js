// What to cook today: what suits everybody and the time there is, uses what expires soon
// and needs little shopping. With plan it is planned, once a day and meal.
export const action = {
  title: "What to cook tonight",
  description: "Suggests what to cook today, or on another day, from what earlier meals leave in the house: respects rules, time, allergies, diets and dislikes, guests' too; uses first what expires soon, then what is open, says what is missing, and what is left of other meals. With plan: true the best one is planned, unless a meal is planned already.",
  input: {
    type: "object",
    properties: {
      meal: { enum: ["breakfast", "lunch", "dinner", "snack"], default: "dinner" },
      servings: { type: "number", exclusiveMinimum: 0, maximum: 100, description: "Without it, for household and guests." },
      date: { type: "string", format: "date", description: "Without it, today." },
      guests: { type: "array", items: { type: "object" }, description: "[{name, portion, diet, allergies, dislikes}], as Household.members; portion 0 is at the table and does not eat." },
      minutes: { type: "integer", minimum: 1, maximum: 1440, description: "Time to cook; without it, the household's for the day." },
      with: { type: "array", items: { type: "string", maxLength: 120, pattern: "\\S" }, maxItems: 20, description: "Foods that it has to use." },
      tags: { type: "array", maxItems: 20, items: { type: "string", maxLength: 40, pattern: "\\S" }, description: "Only recipes with all of these tags, diets or cuisines; lunchbox: what can be packed." },
      count: { type: "integer", minimum: 1, maximum: 20, default: 3, description: "Suggestions." },
      plan: { type: "boolean", default: false },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["date", "suggestions", "planned"],
    properties: {
      date: { type: "string" },
      suggestions: {
        type: "array",
        items: {
          type: "object", required: ["recipeId", "name", "minutes", "servings", "usesSoon", "toBuy"],
          properties: {
            recipeId: { type: "string" }, name: { type: "string" }, minutes: { type: "integer" }, servings: { type: "number" },
            usesSoon: { type: "array", items: { type: "string" } }, usesOpen: { type: "array", items: { type: "string" }, description: "Open packages." }, toBuy: { type: "array", items: { type: "string" } },
            unclear: { type: "array", items: { type: "string" } },
            instead: { type: "array", items: { type: "string" }, description: "What of the house can stand in for something to buy, such as: buttermilk: 225 ml milk and 0.5 lemon." },
          },
        },
      },
      leftovers: { type: "array", items: { type: "object" }, description: "What is left of other meals and suits everybody: leftoverId, name, servings, place, bestBefore. A PlannedMeal with leftoverId plans it." },
      planned: { type: ["object", "null"], properties: { mealId: { type: "string" }, name: { type: "string" }, new: { type: "boolean" } } },
      pastDate: { type: "array", items: { type: "string" } },
      note: { type: "string" },
    },
  },
  effects: {},
  examples: [{}],
};

const SOON = 4; // days
const OPEN = 0.001; // of two that are as good, the one that uses something open
const NAMED = 4; // recipes that a note names
const MOST = 10; // portions of one guest

/** @param {SDK.Actions.TonightInput} input */
export default ({ date, meal = "dinner", servings, guests = [], minutes, with: wanted = [], tags, count = 3, plan = false }) => {
  const stow = SDK.Actions.stow({ foodIds: [] }), day = date ?? stow.today;
  if (date !== undefined) checkDay("/date", date, stow.today);
  guests.forEach((g, i) => {
    if (g.portion !== undefined && !(typeof g.portion === "number" && g.portion >= 0 && g.portion <= MOST)) refuse("/guests/" + i + "/portion", "A guest eats " + JSON.stringify(g.portion) + " portions.", "Send a number from 0 (does not eat) to " + MOST + ", such as 1 for an adult.");
  });
  const portions = servings ?? guests.reduce((sum, g) => sum + Number(g.portion ?? 1), stow.portions);
  const must = wanted.length ? SDK.Actions.findFood({ names: wanted }).found : [];
  must.forEach((f, i) => {
    if (!f.food) refuse("/with/" + i, 'There is no food "' + f.name + '".', f.candidates.length ? "Did you mean " + f.candidates.map((c) => c.name).join(", ") + "?" : "find-food looks for foods.");
  });

  const fits = meals({ guests, date: day, meal, servings: portions, ...(tags ? { tags } : {}), ...(minutes === undefined ? {} : { minutes }) });
  const soon = plus(day, SOON);
  const ideas = fits.meals
    .filter((m) => must.every((f) => m.foodIds.includes(f.food?.id ?? "")))
    .map((m) => {
      const usesSoon = [...new Set(m.uses.filter((u) => u.bestBefore && u.bestBefore <= soon).map((u) => u.name))];
      const usesOpen = [...new Set(m.uses.filter((u) => u.openJar).map((u) => u.name))];
      const lacking = m.missing.length + m.unclear.length;
      const share = m.needed ? 1 - lacking / m.needed : 0;
      const score = 2 * share + Math.min(usesSoon.length, 3) / 3 + (m.favourite ? 0.1 : 0) + (m.rating ?? 0) / 50 + (usesOpen.length ? OPEN : 0);
      return { m, usesSoon, usesOpen, share, score };
    })
    .filter((i) => i.share >= 0.5 || fits.wanted.length > 0) // for what a rule wants one goes shopping
    .sort((a, b) => b.score - a.score || (a.m.name < b.m.name ? -1 : 1))
    .slice(0, count);
  const suggestions = ideas.map(({ m, usesSoon, usesOpen }) => ({
    recipeId: m.recipeId, name: m.name, minutes: m.minutes, servings: portions, usesSoon, usesOpen,
    toBuy: [...m.missing.map((l) => l.say), ...m.staples],
    unclear: m.unclear.map((l) => l.name + ": " + l.problem),
    instead: m.swaps.map((s) => s.name + ": " + s.instead),
  }));

  const today = SDK.Entities.PlannedMeal.firstPage(1, { filter: { date: day, mealType: meal, status: { $ne: "skipped" } }, with: "recipe", count: false }).items[0];
  let planned = today ? { mealId: today.id, name: today.recipe?.name ?? today.name ?? "", new: false } : null;
  if (plan && !today && suggestions.length) {
    const made = SDK.Entities.PlannedMeal.upsert({ date: day, mealType: meal, recipeId: suggestions[0].recipeId, servings: portions, ...(guests.length ? { notes: "With " + guests.map(describe).join("; ") + "." } : {}) });
    planned = { mealId: made.id, name: suggestions[0].name, new: true };
  }
  const left = SDK.Actions.findLeftovers({ date: day, guests }).leftovers.filter((l) => !l.conflicts.length);
  const leftovers = left.map(({ leftoverId, name, servings: n, place, bestBefore }) => ({ leftoverId, name, servings: n, place, bestBefore }));
  const notes = fits.unkept.map((name) => 'Nothing keeps "' + name + '".');
  if (!suggestions.length) {
    const out = fits.ruledOut.filter((m) => must.every((f) => m.foodIds.includes(f.food?.id ?? "")) && m.needed > 0 && m.lacking / m.needed <= 0.5);
    const has = must.map((f) => " has " + f.food?.name.toLowerCase() + ",").join("");
    notes.push("Nothing fits: " + (out.length ? because(out) : "no recipe for " + meal + " within " + fits.within + has + " suits everybody and has half of its ingredients in the house") + ".");
  }
  return { date: day, suggestions, leftovers, planned, pastDate: fits.past, note: notes.join(" ") };
};

/** What the day could have; a guest of whom something is wrong is refused, and a tag that no recipe has. */
const meals = (/** @type {SDK.Actions.DayMealsInput} */ input) => {
  try {
    return SDK.Actions.dayMeals(input);
  } catch (e) {
    const wrong = /** @type {KoanError} */ (e);
    if (wrong.path?.startsWith("/guests") || wrong.path?.startsWith("/tags")) refuse(wrong.path, wrong.message, wrong.hint);
    throw e;
  }
};

/** Which rules leave out what would do. */
const because = (/** @type {{ rule: string, name: string }[]} */ out) => [...new Set(out.map((o) => o.rule))].map((rule) => {
  const names = [...new Set(out.filter((o) => o.rule === rule).map((o) => o.name))], more = names.length - NAMED;
  return rule + " rules out " + (more > 1 ? names.slice(0, NAMED).join(", ") + " and " + more + " others" : names.join(", ").replace(/, ([^,]*)$/, " and $1"));
}).join("; ");

/** Who a guest is, for those who cook. */
const describe = (/** @type {SDK.Actions.DayMealsInputGuest} */ g) => [(g.name ?? "a guest"), g.diet && g.diet !== "none" ? g.diet : "", g.allergies?.length ? "allergic to " + g.allergies.join(", ") : "", g.dislikes?.length ? "no " + g.dislikes.join(", ") : ""].filter((t) => t).join(", ");

/**
 * A day some days later.
 * @type {(day: string, days: number) => string}
 */
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

// What to think of in the next days.
export const action = {
  title: "What to think of",
  description: "What to think of in the next three days: what expires or is past its date, leftovers, planned meals and what they need, what to take out of the freezer, what is open too long, codes that nobody has named.",
  input: {
    type: "object",
    properties: { days: { type: "integer", minimum: 1, maximum: 31, default: 3 } },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["today", "until", "expiring", "past", "leftovers", "meals", "defrost", "openTooLong", "openCodes"],
    properties: {
      today: { type: "string" }, until: { type: "string" },
      expiring: { type: "array", items: { type: "object" }, description: "lotId, name, text, place, date" }, past: { type: "array", items: { type: "object" } },
      leftovers: { type: "array", items: { type: "object" } },
      meals: { type: "array", items: { type: "object" }, description: "date, mealType, name, toBuy" },
      defrost: { type: "array", items: { type: "object" } },
      openTooLong: { type: "array", items: { type: "object" } },
      openCodes: { type: "array", items: { type: "string" } },
    },
  },
  effects: { readOnly: true },
  examples: [{}],
};

/** @type {(day: string, days: number) => string} */
const plus = (day, days) => new Date(Date.parse(day) + days * 86400000).toISOString().slice(0, 10);

/** @param {SDK.Actions.RemindersInput} input */
export default ({ days = 3 }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  const until = plus(today, days);
  const lots = SDK.Entities.PantryItem.all({ filter: { status: "available", amount: { $gt: 0 }, bestBefore: { $lte: until } }, sort: "bestBefore,name" });
  const texts = SDK.Actions.convertAmounts({ amounts: lots.map((l) => ({ foodId: l.foodId ?? "", amount: l.amount, unit: l.unit })) }).amounts;
  const shown = lots.map((l, i) => ({ lotId: l.id, name: l.name, text: texts[i].text, place: l.place, date: l.bestBefore }));
  const meals = SDK.Entities.PlannedMeal.all({ filter: { status: "planned", date: { $gte: today, $lte: until } }, sort: "date,id", with: "recipe" });
  const cover = SDK.Actions.coverMeals({ meals: meals.flatMap((m) => (m.recipeId ? [{ key: m.id, recipeId: m.recipeId, servings: m.servings, date: m.date }] : [])), together: true });
  const frozen = new Set(SDK.Entities.PantryItem.all({ filter: { status: "available", place: "freezer" }, fields: ["id"] }).map((l) => l.id));
  const byKey = new Map(cover.meals.map((c) => [c.key, c]));
  return {
    today, until,
    expiring: shown.filter((l) => (l.date ?? "") >= today), past: shown.filter((l) => (l.date ?? "") < today),
    leftovers: SDK.Entities.Leftover.all({ filter: { status: "available", servings: { $gt: 0 }, bestBefore: { $lte: until } }, sort: "bestBefore" }).map((l) => ({ name: l.name, servings: l.servings, bestBefore: l.bestBefore })),
    meals: meals.map((m) => ({ date: m.date, mealType: m.mealType, name: named(m), toBuy: (byKey.get(m.id)?.missing ?? []).map((l) => l.name) })),
    defrost: meals.flatMap((m) => (byKey.get(m.id)?.uses ?? []).filter((u) => frozen.has(u.lotId)).map((u) => ({ name: u.name, text: u.text, for: named(m), date: m.date }))),
    openTooLong: SDK.Actions.openTooLong({}).lots,
    openCodes: [...new Set(SDK.Entities.Detection.all({ filter: { status: "open" }, fields: ["value"] }).map((d) => d.value))],
  };
};

/** What a meal is called: as its recipe, or for what it is without one. */
const named = (/** @type {SDK.Entities.PlannedMeal & { recipe: SDK.Entities.Recipe | null }} */ m) => m.recipe?.name ?? m.name ?? "";

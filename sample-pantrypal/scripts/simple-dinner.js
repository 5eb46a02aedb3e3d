// What to cook now: the recipe of which the largest share of ingredients is in the house, preferring
// what expires soon. It reads only, and compares no amounts: the action tonight does.
//
// It answers {dinner, ratio, usesSoon, toBuy, alternatives}; dinner is null, with a warning in the
// logs, where nothing fits.

const WITHIN = 7 * 24 * 60 * 60 * 1000; // ms; expires soon
const HALF = 0.5; // a recipe needs this share of its ingredients in the house

function simpleDinner() {
  const today = new Date().toISOString().slice(0, 10), soonest = new Date(Date.now() + WITHIN).toISOString().slice(0, 10);
  const lots = SDK.Entities.PantryItem.all({ filter: { status: "available", amount: { $gt: 0 } }, fields: ["foodId", "bestBefore"] });
  const recipes = SDK.Entities.Recipe.all({ filter: { mealTypes: { $has: "dinner" } }, fields: ["name"], with: "ingredients" });
  const members = /** @type {{allergies?: string[], dislikes?: string[]}[]} */ (SDK.Entities.Household.firstPage(1, { count: false }).items[0]?.members ?? []);
  const allergies = members.flatMap((m) => m.allergies ?? []);
  const harmful = allergies.length ? SDK.Entities.Food.all({ filter: { $or: allergies.map((a) => ({ allergens: { $has: a } })) }, fields: ["name"] }) : [];
  const dislikes = members.flatMap((m) => m.dislikes ?? []);
  const disliked = dislikes.length ? SDK.Entities.Food.all({ filter: { name: { $in: dislikes } }, fields: ["name"] }) : [];
  const avoid = new Set([...harmful, ...disliked].map((f) => f.id));

  /** @type {Map<string, string>} foods in the house, and until when the oldest is good */
  const house = new Map();
  for (const lot of lots) {
    const until = lot.bestBefore ?? "9999-12-31", food = lot.foodId ?? "", known = house.get(food);
    if (food && until >= today && (known === undefined || until < known)) house.set(food, until);
  }
  const ideas = recipes
    .filter((r) => !r.ingredients?.some((i) => avoid.has(i.foodId ?? "")))
    .map((r) => {
      const required = (r.ingredients ?? []).filter((i) => !i.optional);
      const there = required.filter((i) => house.has(i.foodId ?? ""));
      const soon = there.filter((i) => (house.get(i.foodId ?? "") ?? "9") <= soonest);
      const ratio = required.length ? there.length / required.length : 0;
      // Two thirds for what is there, one third for what would be lost otherwise, of which at most three count.
      return { name: r.name ?? "", ratio, score: (2 * ratio + Math.min(soon.length, 3) / 3) / 3, soon, missing: required.filter((i) => !there.includes(i)) };
    })
    .filter((idea) => idea.ratio >= HALF)
    .sort((a, b) => b.score - a.score || (a.name < b.name ? -1 : 1));

  const [best, ...others] = ideas;
  if (!best) {
    SDK.Out.warn("No recipe has half of its ingredients in the house. Put something into the pantry first.");
    return { dinner: null, ratio: 0, usesSoon: [], toBuy: [], alternatives: [] };
  }
  return {
    dinner: best.name,
    ratio: Math.round(best.ratio * 100) / 100,
    usesSoon: best.soon.map((i) => i.name),
    toBuy: best.missing.map((i) => i.name),
    alternatives: others.slice(0, 3).map((idea) => idea.name),
  };
}

SDK.Out.answer(simpleDinner());

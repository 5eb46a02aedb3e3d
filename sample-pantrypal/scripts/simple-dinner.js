// What to cook now: the recipe of which the largest share of ingredients is in
// the house, preferring what expires soon. It reads only.
//
// It answers {dinner, ratio, usesSoon, toBuy, alternatives}; dinner is null, with
// a warning in the logs, where nothing fits.

const WITHIN = 7 * 24 * 60 * 60 * 1000; // ms; expires soon
const HALF = 0.5; // a recipe needs this share of its ingredients in the house

/** Makes plural and singular meet. @param {string | undefined} name */
const singular = (name) => (name ?? "").toLowerCase().replace(/oes\b/g, "o").replace(/s\b/g, "");

function simpleDinner() {
  const now = Date.now();
  const items = SDK.Entities.PantryItem.all({ filter: { status: "available", quantity: { $gt: 0 } }, fields: ["name", "expiresAt"] });
  const recipes = SDK.Entities.Recipe.all({ with: "ingredients" });
  const home = SDK.Entities.HouseholdProfile.firstPage(1, { count: false }).items[0] ?? {};
  const allergies = home.allergies ?? [];
  const products = allergies.length ? SDK.Entities.Product.all({ fields: ["name", "allergens"] }) : [];
  const harmful = products.filter((p) => p.allergens?.some((a) => allergies.includes(a)));
  const avoid = new Set([...harmful.map((p) => singular(p.name)), ...(home.dislikes ?? []).map(singular)]);

  /** @type {Map<string, number>} what is in the house and when it expires, in ms */
  const house = new Map();
  for (const item of items) {
    const expires = item.expiresAt ? Date.parse(item.expiresAt) : Infinity;
    const key = singular(item.name);
    if (expires > now) house.set(key, Math.min(expires, house.get(key) ?? Infinity));
  }

  const ideas = recipes
    .filter((r) => r.mealTypes?.includes("dinner") && (!home.diet || home.diet === "none" || r.dietaryTags?.includes(home.diet)))
    .filter((r) => !r.ingredients?.some((i) => avoid.has(singular(i.name))))
    .map((r) => {
      const required = (r.ingredients ?? []).filter((i) => !i.optional);
      const there = required.filter((i) => house.has(singular(i.name)));
      const soon = there.filter((i) => (house.get(singular(i.name)) ?? Infinity) <= now + WITHIN);
      const ratio = required.length ? there.length / required.length : 0;
      // Two thirds for what is there, one third for what would be lost otherwise,
      // of which at most three ingredients count.
      const score = (2 * ratio + Math.min(soon.length, 3) / 3) / 3;
      return { name: r.name ?? "", ratio, score, soon, missing: required.filter((i) => !there.includes(i)) };
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

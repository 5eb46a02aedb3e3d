// Packages that were opened and forgotten.
export const action = {
  title: "What is open too long",
  description: "Names what was opened longer ago than it is good for: a quarter of what its food keeps there closed, and at least the given days.",
  input: {
    type: "object",
    properties: {
      fridge: { type: "integer", minimum: 0, maximum: 3650, default: 4, description: "Days that anything opened is good in the fridge." },
      pantry: { type: "integer", minimum: 0, maximum: 3650, default: 30 },
      freezer: { type: "integer", minimum: 0, maximum: 3650, default: 60 },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["lots"],
    properties: { lots: { type: "array", items: { type: "object", required: ["lotId", "name", "text", "days"], properties: { lotId: { type: "string" }, name: { type: "string" }, text: { type: "string" }, place: { type: "string" }, date: { type: "string", description: "When it was opened." }, days: { type: "integer" } } } } },
  },
  listed: false,
  effects: { readOnly: true },
  examples: [{}],
};

/** @param {SDK.Actions.OpenTooLongInput} input */
export default ({ fridge = 4, pantry = 30, freezer = 60 }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  const least = { fridge, pantry, freezer }, shelf = /** @type {const} */ ({ fridge: "shelfLifeFridge", pantry: "shelfLifePantry", freezer: "shelfLifeFreezer" });
  const good = (/** @type {SDK.Entities.PantryItem} */ l) => Math.max(least[l.place], Math.round((l.food?.[shelf[l.place]] ?? 0) / 4));
  const open = SDK.Entities.PantryItem.all({ filter: { status: "available", amount: { $gt: 0 }, openedAt: { $null: false }, staple: false }, sort: "openedAt,name", with: "food" });
  const texts = SDK.Actions.convertAmounts({ amounts: open.map((l) => ({ foodId: l.foodId ?? "", amount: l.amount, unit: l.unit })) }).amounts;
  const lots = open
    .map((l, i) => ({ good: good(l), lotId: l.id, name: l.name, text: texts[i].text, place: l.place, date: l.openedAt, days: Math.round((Date.parse(today) - Date.parse(l.openedAt ?? today)) / 86400000) }))
    .filter((l) => l.days > l.good).map(({ good: _, ...l }) => l);
  return { lots };
};

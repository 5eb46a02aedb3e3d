// Packages that were opened and forgotten.
export const action = {
  title: "What is open too long",
  description: "Names what was opened longer ago than it is good for: fresh things after a few days, what stands in the pantry after some weeks.",
  input: {
    type: "object",
    properties: {
      fridge: { type: "integer", minimum: 0, default: 5, description: "Days that opened things are good in the fridge." },
      pantry: { type: "integer", minimum: 0, default: 90 },
      freezer: { type: "integer", minimum: 0, default: 120 },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["lots"],
    properties: { lots: { type: "array", items: { type: "object", required: ["lotId", "name", "text", "days"], properties: { lotId: { type: "string" }, name: { type: "string" }, text: { type: "string" }, place: { type: "string" }, date: { type: "string", description: "When it was opened." }, days: { type: "integer" } } } } },
  },
  effects: { readOnly: true },
  examples: [{}],
};

export default ({ fridge = 5, pantry = 90, freezer = 120 }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  const good = { fridge, pantry, freezer };
  const lots = SDK.Entities.PantryItem.all({ filter: { status: "available", amount: { $gt: 0 }, openedAt: { $null: false }, staple: false }, sort: "openedAt,name" })
    .map((l) => ({ lotId: l.id, name: l.name, text: l.amount + " " + l.unit, place: l.place, date: l.openedAt, days: Math.round((Date.parse(today) - Date.parse(l.openedAt)) / 86400000) }))
    .filter((l) => l.days > good[l.place]);
  return { lots };
};

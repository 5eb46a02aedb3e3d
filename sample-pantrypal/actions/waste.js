// What was thrown away, and what that cost.
export const action = {
  title: "What was wasted",
  description: "What was wasted or expired, by month and by aisle, with its cost, and which foods most often.",
  input: {
    type: "object",
    properties: { months: { type: "integer", minimum: 1, maximum: 60, default: 12, description: "How many months, this one included." } },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["since", "total", "months", "aisles", "foods"],
    properties: {
      since: { type: "string" },
      total: { type: "object", description: "times, cost, and withoutPrice: how many of the times have no price and are not in cost." },
      months: { type: "array", items: { type: "object" }, description: "month, sum, aisles" },
      aisles: { type: "array", items: { type: "object" }, description: "name, times, cost, withoutPrice; dearest first" },
      foods: { type: "array", items: { type: "object" } },
    },
  },
  effects: { readOnly: true },
  examples: [{}],
};

/** @param {SDK.Actions.WasteInput} input */
export default ({ months = 12 }) => {
  const { today } = SDK.Actions.stow({ foodIds: [] });
  const [y, m] = today.split("-").map(Number);
  const since = new Date(Date.UTC(y, m - months, 1)).toISOString().slice(0, 10);
  const events = SDK.Entities.PantryEvent.all({ filter: { kind: "went", reason: { $in: ["wasted", "expired"] }, at: { $gte: since + "T00:00:00+14:00" } }, sort: "at,id", with: "food" });
  const days = SDK.Actions.localDays({ times: events.map((e) => e.at) }).days; // the household's
  const total = sum();
  const byMonth = new Map(), byAisle = new Map(), byFood = new Map();
  for (const [i, e] of events.entries()) {
    if (days[i] < since) continue;
    const month = days[i].slice(0, 7), aisle = e.food?.aisle ?? "other", name = e.food?.name ?? e.itemName;
    if (!byMonth.has(month)) byMonth.set(month, { sum: sum(), aisles: new Map() });
    const of = byMonth.get(month);
    for (const s of [total, of.sum, at(of.aisles, aisle), at(byAisle, aisle), at(byFood, name)]) {
      s.times++;
      if (e.cost === null) s.withoutPrice++;
      else s.cents += Math.round(e.cost * 100);
    }
  }
  return {
    since, total: shown(total),
    months: [...byMonth].map(([month, v]) => ({ month, sum: shown(v.sum), aisles: ranked(v.aisles) })),
    aisles: ranked(byAisle), foods: ranked(byFood).slice(0, 20),
  };
};

const sum = () => ({ times: 0, cents: 0, withoutPrice: 0 });
/** @typedef {{ times: number, cents: number, withoutPrice: number }} Sum */
/** @type {(map: Map<string, Sum>, key: string) => Sum} */
const at = (map, key) => { const of = map.get(key) ?? sum(); map.set(key, of); return of; };
const shown = (/** @type {Sum} */ s) => ({ times: s.times, cost: s.cents / 100, withoutPrice: s.withoutPrice });
const ranked = (/** @type {Map<string, Sum>} */ map) => [...map].map(([name, s]) => ({ name, ...shown(s) })).sort((a, b) => b.cost - a.cost || b.times - a.times || (a.name < b.name ? -1 : 1));

// Something changes: somebody cannot come, guests do, a meal moves or falls out. The list follows.
export const action = {
  title: "Change a planned meal",
  description: "Changes a planned meal when somebody cannot come or guests do: fewer or more people, another day, another recipe, or not at all. Swaps with the meal that is planned on the new day. The open shopping list of its plan follows.",
  input: {
    type: "object",
    properties: {
      mealId: { type: "string" },
      date: { type: "string", format: "date", description: "Without mealId: the day whose meal changes; without both, today." },
      meal: { enum: ["breakfast", "lunch", "dinner", "snack"], default: "dinner" },
      servings: { type: "number", exclusiveMinimum: 0, description: "The new number of portions." },
      absent: { type: "array", items: { type: "string" }, description: "Members of the household who do not eat." },
      guests: { type: "number", minimum: 0, description: "Portions for guests, more than now." },
      to: { type: "string", format: "date", description: "Another day." },
      recipe: { type: "string", description: "Id or name of another recipe." },
      skip: { type: "boolean", default: false, description: "The meal falls out." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["mealId", "name", "date", "servings", "status", "list"],
    properties: {
      mealId: { type: "string" }, name: { type: "string" }, date: { type: "string" }, servings: { type: "number" }, status: { type: "string" },
      swapped: { type: ["string", "null"], description: "The meal that took its day." },
      list: { type: ["object", "null"], properties: { listId: { type: "string" }, items: { type: "integer" }, estimatedCost: { type: ["number", "null"] } } },
    },
  },
  effects: { destructive: true },
  examples: [{ guests: 2 }],
};

export default ({ mealId, date, meal = "dinner", servings, absent = [], guests, to, recipe, skip = false }) => {
  const { today, portions } = SDK.Actions.stow({ foodIds: [] });
  const row = mealId ? SDK.Entities.PlannedMeal.getById(mealId) : SDK.Entities.PlannedMeal.firstPage(1, { filter: { date: date ?? today, mealType: meal, status: "planned" }, sort: "id", count: false }).items[0];
  if (!row) throw new Error("No " + meal + " is planned for " + (date ?? today) + ".");
  if (row.status === "cooked") throw new Error("The meal of " + row.date + " is cooked already.");
  const changes = {};
  if (servings !== undefined || absent.length || guests !== undefined) {
    const members = SDK.Entities.Household.findById("household")?.members ?? [];
    let n = servings ?? row.servings;
    for (const name of absent) {
      const m = members.find((x) => x.name.toLowerCase() === name.toLowerCase());
      if (!m) throw new Error('Nobody here is called "' + name + '"; there are ' + members.map((x) => x.name).join(", ") + ".");
      n -= m.portion;
    }
    n += guests ?? 0;
    if (n <= 0) changes.status = "skipped";
    else changes.servings = n;
  }
  if (skip) changes.status = "skipped";
  if (recipe) {
    const r = SDK.Entities.Recipe.findById(recipe) ?? SDK.Entities.Recipe.firstPage(1, { filter: { name: recipe }, count: false }).items[0] ?? SDK.Entities.Recipe.firstPage(1, { q: recipe, count: false }).items[0];
    if (!r) throw new Error('There is no recipe "' + recipe + '".');
    changes.recipeId = r.id;
  }
  let swapped = null;
  if (to && to !== row.date) {
    if (to < today) throw new Error(to + " is before today, " + today + ".");
    const other = SDK.Entities.PlannedMeal.firstPage(1, { filter: { date: to, mealType: row.mealType, status: "planned", id: { $ne: row.id } }, sort: "id", with: "recipe", count: false }).items[0];
    if (other) {
      SDK.Entities.PlannedMeal.patch(other.id, { date: row.date });
      swapped = other.recipe.name;
    }
    changes.date = to;
  }
  if (!Object.keys(changes).length) throw new Error("Say what changes: servings, absent, guests, to, recipe or skip.");
  SDK.Entities.PlannedMeal.patch(row.id, changes, { ifVersion: row.version });
  const now = SDK.Entities.PlannedMeal.getById(row.id, { with: "recipe" });
  const open = SDK.Entities.ShoppingList.firstPage(1, { filter: { status: "open", ...(now.planId ? { $or: [{ planId: now.planId }, { planId: null }] } : { planId: null }), items: { $some: { needs: { $exists: true } } } }, sort: "-createdAt", count: false }).items[0];
  const list = open ? SDK.Actions.shop({ listId: open.id }) : null;
  return { mealId: now.id, name: now.recipe.name, date: now.date, servings: now.servings, status: now.status, swapped, list: list ? { listId: list.listId, items: list.items.length, estimatedCost: list.estimatedCost } : null };
};

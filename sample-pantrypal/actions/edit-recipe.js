// What a recipe says is changed. One of the catalogue stays as every household has it: a recipe of the
// household's own is made of it.
export const action = {
  title: "Change a recipe",
  description: "Changes a recipe: its ingredients as lines of text, steps, portions, times, tags, diets, rating. Of a recipe of the catalogue it makes one of the household's own.",
  input: {
    type: "object",
    properties: {
      recipe: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name." },
      name: { type: "string", minLength: 1, maxLength: 120, pattern: "\\S", description: "The new one." },
      description: { type: "string", maxLength: 2000 },
      ingredients: { type: "array", minItems: 1, maxItems: 200, items: { type: "string", maxLength: 400, pattern: "\\S" }, description: "All of them, in their order: lines of text, or ids of RecipeIngredients that stay as they are." },
      steps: { type: "array", maxItems: 100, items: { type: "string", maxLength: 4000 }, description: "All of them." },
      servings: { type: "integer", minimum: 1, maximum: 100 },
      prepMinutes: { type: "integer", minimum: 0, maximum: 10080 },
      cookMinutes: { type: "integer", minimum: 0, maximum: 10080 },
      meals: { type: "array", items: { enum: ["breakfast", "lunch", "dinner", "snack", "dessert", "side"] } },
      diets: { type: "array", items: { enum: ["vegan", "vegetarian", "pescatarian", "gluten-free", "dairy-free"] } },
      tags: { type: "array", maxItems: 20, items: { type: "string", minLength: 1, maxLength: 40 } },
      source: { type: "string", maxLength: 400 },
      rating: { type: "number", minimum: 0, maximum: 5 },
      version: { type: "integer", minimum: 1, description: "The one that was read: a conflict where somebody has changed the household's own recipe since." },
    },
    required: ["recipe"],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["recipeId", "name", "of", "unknown", "notes"],
    properties: {
      recipeId: { type: "string" }, name: { type: "string" },
      of: { type: ["string", "null"], description: "The recipe of the catalogue that it was made of." },
      unknown: { type: "array", items: { type: "object", properties: { text: { type: "string" }, problem: { type: "string" }, candidates: { type: "array", items: { type: "string" } } } }, description: "New lines that join to no food." },
      notes: { type: "array", items: { type: "string" } },
    },
  },
  effects: {},
  examples: [{ recipe: "Shakshuka", servings: 4 }],
};

const MEATLESS = ["vegan", "vegetarian", "pescatarian"]; // each is the next as well

/** @param {SDK.Actions.EditRecipeInput} input */
export default ({ recipe, name, ingredients, steps, meals, diets, tags, version, ...rest }) => {
  const found = SDK.Actions.findRecipe({ recipe });
  if (!found.recipeId) refuse("/recipe", found.problem, found.hint);
  const texts = { name, ingredients, steps, meals, diets, tags, ...rest, rating: undefined };
  const said = Object.values(texts).some((v) => v !== undefined);
  if (!said && rest.rating === undefined) refuse("/recipe", "Nothing is to change.", "Send what is to be different, such as servings or steps.");
  const was = SDK.Entities.Recipe.getById(found.recipeId), shared = said && was.origin === "catalogue"; // a rating is the household's also of the catalogue's
  const lines = SDK.Entities.RecipeIngredient.all({ filter: { recipeId: was.id }, sort: "position,id" });
  const title = name?.trim() ?? (shared ? (was.name + OURS).slice(0, 120) : was.name);
  const there = SDK.Entities.Recipe.firstPage(1, { filter: { name: title, id: { $ne: shared ? "" : was.id } }, count: false }).items[0];
  if (there) refuse("/name", "There is a recipe " + title + " already.", "Send another name.");
  const says = {
    ...rest, name: title,
    ...(steps ? { steps: steps.map((s) => s.trim()).filter((s) => s) } : {}),
    ...(meals ? { mealTypes: meals } : {}),
    ...(diets ? { dietaryTags: strictest(diets) } : {}),
    ...(tags ? { tags: [...new Set(tags.map((t) => t.trim().toLowerCase()).filter((t) => t))] } : {}),
  };
  const to = shared ? SDK.Entities.Recipe.upsert({ ...copyOf(was), ...says }) : SDK.Entities.Recipe.patch(was.id, says, version === undefined ? {} : { ifVersion: Number(version) });
  const unknown = ingredients || shared ? write(to.id, lines, ingredients ?? lines.map((l) => l.id), shared) : [];
  const planned = shared ? SDK.Entities.PlannedMeal.count({ recipeId: was.id, status: "planned" }) : 0;
  return {
    recipeId: to.id, name: to.name, of: shared ? was.id : null, unknown,
    notes: planned ? ["What is planned stays " + was.name + ": replan with recipe changes a meal."] : [],
  };
};

const OURS = ", our way";

/** What a recipe of the household's own takes over. */
const copyOf = (/** @type {SDK.Entities.Recipe} */ r) => ({
  description: r.description, steps: r.steps, cuisine: r.cuisine, mealTypes: r.mealTypes, dietaryTags: r.dietaryTags, tags: r.tags, prepMinutes: r.prepMinutes, cookMinutes: r.cookMinutes,
  difficulty: r.difficulty, servings: r.servings, equipment: r.equipment, source: r.source, photo: r.photo, drawnAs: r.drawnAs || r.name, ...(r.rating == null ? {} : { rating: r.rating }),
});

/**
 * Writes the lines of a recipe, and says which of the new ones join to no food.
 * @type {(recipeId: string, lines: SDK.Entities.RecipeIngredient[], wanted: string[], copy: boolean) => SDK.Actions.EditRecipeOutput["unknown"]}
 */
const write = (recipeId, lines, wanted, copy) => {
  const kept = new Map(lines.map((l) => [l.id, l])), unknown = [], rows = [];
  const gone = wanted.findIndex((text, i) => (kept.has(text) ? wanted.indexOf(text) < i : ID.test(text)));
  if (gone >= 0) refuse("/ingredients/" + gone, "The recipe has no such line any more.", "Read its ingredients anew.");
  let position = 0;
  for (const text of wanted) {
    const stays = kept.get(text);
    if (stays) {
      kept.delete(text); // what is left of them goes
      if (copy) rows.push({ ...lineOf(stays), recipeId, position });
      else if (stays.position !== position) SDK.Entities.RecipeIngredient.patch(stays.id, { position });
      position++;
      continue;
    }
    for (const l of SDK.Actions.readIngredients({ lines: [text.trim()] }).lines) {
      rows.push({
        recipeId, position, name: (l.name || l.text).slice(0, 120), foodId: l.foodId, amount: l.amount, amountMax: l.amountMax, unit: l.unit,
        preparation: l.preparation.slice(0, 240), optional: l.optional, text: l.text.slice(0, 400),
      });
      if (!l.foodId) unknown.push({ text: l.text, problem: l.problem, candidates: l.candidates.map((c) => c.name) });
      position++;
    }
  }
  if (!copy && kept.size) SDK.Entities.RecipeIngredient.deleteMany([...kept.keys()]);
  if (rows.length) SDK.Entities.RecipeIngredient.upsertMany(rows);
  return unknown;
};

const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** A line for another recipe. */
const lineOf = (/** @type {SDK.Entities.RecipeIngredient} */ l) => ({ name: l.name, foodId: l.foodId, amount: l.amount, amountMax: l.amountMax, unit: l.unit, preparation: l.preparation, optional: l.optional, text: l.text });

/** What a vegan recipe is, a vegetarian and a pescatarian one are too. */
const strictest = (/** @type {string[]} */ diets) => {
  const from = MEATLESS.findIndex((d) => diets.includes(d));
  return [...(from < 0 ? [] : MEATLESS.slice(from)), ...diets.filter((d) => !MEATLESS.includes(d))];
};

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

// A recipe as text, as JSON-LD, or as the web page that carries it becomes a recipe of the household.
export const action = {
  title: "Import a recipe",
  description: "Makes a recipe of a text (English, German, French), of schema.org JSON-LD, or of the HTML of a web page that has it. Each line is joined to its food; those that name none are kept and named. Nothing is made up: what the recipe does not say is in notes.",
  input: {
    type: "object",
    properties: {
      text: { type: "string", minLength: 1, maxLength: 1000000, description: "Title, ingredients, steps, with headings or without; or the page's HTML." },
      jsonLd: { anyOf: [{ type: "object" }, { type: "array", items: { type: "object" } }, { type: "string" }], description: "schema.org Recipe; of a @graph or a list, the first." },
      name: { type: "string", minLength: 1, maxLength: 120, description: "Instead of its own name." },
      servings: { type: "integer", minimum: 1, maximum: 100, description: "Instead of its own." },
      tags: { type: "array", maxItems: 20, items: { type: "string", minLength: 1, maxLength: 40 }, description: "Beside its own." },
      rating: { type: "number", minimum: 0, maximum: 5, description: "The household's." },
      source: { type: "string", maxLength: 400, description: "Such as its address." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["recipeId", "name", "servings", "ingredients", "unknown", "notes"],
    properties: {
      recipeId: { type: "string" }, name: { type: "string" }, servings: { type: "integer" }, minutes: { type: ["integer", "null"], description: "null: unknown, so nothing plans it." },
      ingredients: { type: "array", items: { type: "object", properties: { text: { type: "string" }, foodId: { type: ["string", "null"] }, amount: { type: ["number", "null"] }, unit: { type: ["string", "null"] } } } },
      unknown: { type: "array", items: { type: "object", properties: { text: { type: "string" }, problem: { type: "string" }, candidates: { type: "array", items: { type: "string" } } } }, description: "Lines that join to no food." },
      notes: { type: "array", items: { type: "string" }, description: "What the recipe does not say, and what was taken instead." },
    },
  },
  effects: {},
  examples: [{ text: "Tomato toast\n\nIngredients\n4 slices bread\n2 tomatoes, sliced\nsalt, to taste\n\nSteps\nToast the bread.\nPut the tomatoes on it." }],
};

/** @param {SDK.Actions.ImportRecipeInput} input */
export default ({ text, jsonLd, name, source, servings, tags = [], rating }) => {
  if (text === undefined && jsonLd === undefined) refuse("/text", "There is no recipe in the input.", "Send text, or jsonLd.");
  if (text !== undefined && jsonLd !== undefined) refuse("/jsonLd", "text and jsonLd are two ways to say one recipe.", "Send one of them.");
  const r = text !== undefined ? read(text, "/text") : read(typeof jsonLd === "string" ? (jsonLd.trim() || "{") : JSON.stringify(jsonLd), "/jsonLd");
  const title = (name ?? r.name).trim().slice(0, 120);
  if (!title) refuse("/name", "The recipe has no name.", "Send name.");
  const there = SDK.Entities.Recipe.firstPage(1, { filter: { name: title }, count: false }).items[0];
  if (there) refuse("/name", "There is a recipe " + title + " already (" + there.id + ").", "Send another name.");
  const notes = [];
  if (servings === undefined && r.servings === null) notes.push("The recipe does not say for how many it is: 2 portions were taken.");
  if (!r.steps.length) notes.push("It has no steps.");
  if (!(r.prepMinutes + r.cookMinutes)) notes.push("It does not say how long it takes, so nothing plans it.");
  const recipe = SDK.Entities.Recipe.upsert({
    name: title, description: r.description, steps: r.steps, cuisine: r.cuisine, mealTypes: r.meals.length ? r.meals : ["dinner"], dietaryTags: [], tags: [...new Set([...r.tags, ...tags.map((t) => t.trim().toLowerCase())])],
    prepMinutes: r.prepMinutes, cookMinutes: r.cookMinutes, servings: servings ?? r.servings ?? 2, source: source ?? r.source, equipment: [], ...(rating === undefined ? {} : { rating }),
  });
  SDK.Entities.RecipeIngredient.upsertMany(r.lines.map((l, position) => ({
    recipeId: recipe.id, position, name: (l.name || l.text).slice(0, 120), foodId: l.foodId, amount: l.amount, amountMax: l.amountMax, unit: l.unit,
    preparation: l.preparation.slice(0, 240), optional: l.optional, text: l.text.slice(0, 400),
  })));
  return {
    recipeId: recipe.id, name: recipe.name, servings: recipe.servings, minutes: recipe.prepMinutes + recipe.cookMinutes || null,
    ingredients: r.lines.map((l) => ({ text: l.text, foodId: l.foodId, amount: l.amount, unit: l.unit })),
    unknown: r.lines.filter((l) => !l.foodId).map((l) => ({ text: l.text, problem: l.problem, candidates: l.candidates.map((c) => c.name) })),
    notes,
  };
};

/** Reads a recipe; what is wrong with it is wrong where it was sent. */
function read(/** @type {string} */ text, /** @type {string} */ path) {
  try {
    return SDK.Actions.readRecipe({ text });
  } catch (e) {
    const wrong = /** @type {KoanError} */ (e);
    if (wrong.code !== "invalid_payload") throw e;
    refuse(path, wrong.message, wrong.hint);
  }
}

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

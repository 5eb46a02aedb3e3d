// A recipe as text or as the JSON-LD that web pages carry becomes a recipe of the household.
export const action = {
  title: "Import a recipe",
  description: "Makes a recipe of a text or of schema.org JSON-LD as web pages carry it. Each line is joined to its food; those that name none are kept and named.",
  input: {
    type: "object",
    properties: {
      text: { type: "string", minLength: 1, maxLength: 20000, description: "Title; a line \"Ingredients\", then one line for each; a line \"Steps\", then the steps." },
      jsonLd: { anyOf: [{ type: "object" }, { type: "array", items: { type: "object" } }, { type: "string" }], description: "schema.org Recipe; of a @graph or a list, the first." },
      name: { type: "string", minLength: 1, maxLength: 120, description: "Instead of its own name." },
      source: { type: "string", maxLength: 400, description: "Such as its address." },
    },
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["recipeId", "name", "servings", "ingredients", "unknown"],
    properties: {
      recipeId: { type: "string" }, name: { type: "string" }, servings: { type: "integer" }, minutes: { type: ["integer", "null"], description: "null: unknown, so nothing plans it." },
      ingredients: { type: "array", items: { type: "object", properties: { text: { type: "string" }, foodId: { type: ["string", "null"] }, amount: { type: ["number", "null"] }, unit: { type: ["string", "null"] } } } },
      unknown: { type: "array", items: { type: "object", properties: { text: { type: "string" }, problem: { type: "string" }, candidates: { type: "array", items: { type: "string" } } } }, description: "Lines that join to no food." },
    },
  },
  effects: {},
  examples: [{ text: "Tomato toast\n\nIngredients\n4 slices bread\n2 tomatoes, sliced\nsalt, to taste\n\nSteps\nToast the bread.\nPut the tomatoes on it." }],
};

const LINES = 200, MOST = 100, LONGEST = 7 * 1440; // lines of a recipe, its portions, its minutes
const MEALS = ["breakfast", "lunch", "dinner", "snack", "dessert"];

/** @param {SDK.Actions.ImportRecipeInput} input */
export default ({ text, jsonLd, name, source }) => {
  if (text === undefined && jsonLd === undefined) refuse("/text", "There is no recipe in the input.", "Send text, or jsonLd.");
  if (text !== undefined && jsonLd !== undefined) refuse("/jsonLd", "text and jsonLd are two ways to say one recipe.", "Send one of them.");
  const r = text !== undefined ? fromText(text) : fromJsonLd(jsonLd);
  const at = text !== undefined ? "/text" : "/jsonLd";
  const title = (name ?? r.name ?? "").trim().slice(0, 120);
  if (!title) refuse("/name", "The recipe has no name.", "Send name.");
  if (!r.lines.length) refuse(at, "The recipe has no ingredients.", text !== undefined ? 'Put a line "Ingredients" before them.' : "Send a recipe that has some.");
  if (r.lines.length > LINES) refuse(at, "The recipe has " + r.lines.length + " ingredients, more than " + LINES + ".", "Split it into several recipes.");
  const there = SDK.Entities.Recipe.firstPage(1, { filter: { name: title }, count: false }).items[0];
  if (there) refuse("/name", "There is a recipe " + title + " already (" + there.id + ").", "Send another name.");
  const lines = SDK.Actions.readIngredients({ lines: r.lines }).lines.filter((l) => l.text.trim());
  const recipe = SDK.Entities.Recipe.upsert({
    name: title, description: r.description, steps: r.steps, cuisine: r.cuisine, mealTypes: r.meals.length ? r.meals : ["dinner"], dietaryTags: [], tags: [],
    ...times(r), servings: r.servings, source: source ?? r.source, equipment: [],
  });
  SDK.Entities.RecipeIngredient.upsertMany(lines.map((l, position) => ({
    recipeId: recipe.id, position, name: (l.name || l.text).slice(0, 120), foodId: l.foodId, amount: l.amount, amountMax: l.amountMax, unit: l.unit,
    preparation: l.preparation.slice(0, 240), optional: l.optional, text: l.text.slice(0, 400),
  })));
  return {
    recipeId: recipe.id, name: recipe.name, servings: recipe.servings, minutes: recipe.prepMinutes + recipe.cookMinutes || null,
    ingredients: lines.map((l) => ({ text: l.text, foodId: l.foodId, amount: l.amount, unit: l.unit })),
    unknown: lines.filter((l) => !l.foodId).map((l) => ({ text: l.text, problem: l.problem, candidates: l.candidates.map((c) => c.name) })),
  };
};

/** Reads a text by its headings. */
function fromText(/** @type {string} */ text) {
  const r = { name: "", description: "", lines: /** @type {string[]} */ ([]), steps: /** @type {string[]} */ ([]), servings: 2, prep: 0, cook: 0, total: 0, meals: /** @type {string[]} */ ([]), cuisine: "", source: "" };
  let part = "head";
  for (const raw of text.split(/\r?\n/)) {
    const line = raw.replace(/^\s*(#+|[-*•])\s*/, "").trim();
    if (!line) continue;
    const head = line.replace(/:$/, "").toLowerCase();
    if (["ingredients", "you need", "what you need"].includes(head)) { part = "lines"; continue; }
    if (["steps", "method", "instructions", "directions", "preparation"].includes(head)) { part = "steps"; continue; }
    const serves = /^(?:serves|servings|yield|makes|for)\s*:?\s*(\d+)/i.exec(line);
    const time = /^(prep|cook|total)(?:aration|ing)?(?: time)?\s*:?\s*(\d.*)$/i.exec(line), spent = time ? spoken(time[2]) : 0;
    if (serves && part !== "steps") r.servings = Math.max(1, Math.min(MOST, Number(serves[1])));
    else if (time && spent && part !== "steps") r[/** @type {"prep" | "cook" | "total"} */ (time[1].toLowerCase())] = spent;
    else if (part === "lines") r.lines.push(line);
    else if (part === "steps") r.steps.push(line.replace(/^\d+[.)]\s*/, ""));
    else if (!r.name) r.name = line;
    else r.description += (r.description ? " " : "") + line;
  }
  return r;
}

/** Reads schema.org's Recipe. */
function fromJsonLd(/** @type {SDK.Actions.ImportRecipeInput["jsonLd"]} */ data) {
  /** @type {any} */
  let json = data;
  if (typeof data === "string") {
    try { json = JSON.parse(data); } catch (e) { refuse("/jsonLd", "jsonLd is not JSON: " + /** @type {Error} */ (e).message, "Send the text of the script element, or the object."); }
  }
  const found = find(json, 0);
  if (!found) refuse("/jsonLd", "There is no schema.org Recipe in jsonLd.", "Send what has the type Recipe, or text.");
  const list = (/** @type {any} */ v) => (v == null ? [] : Array.isArray(v) ? v : [v]);
  /** @type {(v: any) => string[]} */
  const texts = (v) => list(v).flatMap((x) => (typeof x === "string" ? x.split(/\r?\n/) : x?.itemListElement ? texts(x.itemListElement) : [x?.text ?? x?.name ?? ""])).map((s) => clean(String(s))).filter((s) => s);
  const servings = /\d+/.exec(String(list(found.recipeYield)[0] ?? ""));
  const categories = list(found.recipeCategory).join(" ").toLowerCase();
  return {
    name: clean(String(found.name ?? "")), description: clean(String(found.description ?? "")), lines: texts(found.recipeIngredient ?? found.ingredients), steps: texts(found.recipeInstructions),
    servings: servings ? Math.max(1, Math.min(MOST, Number(servings[0]))) : 2, prep: minutes(found.prepTime), cook: minutes(found.cookTime), total: minutes(found.totalTime), meals: MEALS.filter((m) => categories.includes(m)),
    cuisine: clean(String(list(found.recipeCuisine)[0] ?? "")).toLowerCase().slice(0, 40), source: String(found.url ?? "").slice(0, 400),
  };
}

/**
 * The first Recipe of a document, a list or a graph.
 * @type {(node: any, depth: number) => any}
 */
function find(node, depth) {
  if (!node || typeof node !== "object" || depth > 6) return null;
  if (Array.isArray(node)) {
    for (const n of node) { const f = find(n, depth + 1); if (f) return f; }
    return null;
  }
  if ([node["@type"]].flat().includes("Recipe")) return node;
  return find(node["@graph"], depth + 1) ?? find(node.mainEntity, depth + 1);
}

/** The minutes of a recipe, 0 where it does not say: what it leaves out is the rest of the total. */
function times(/** @type {{ prep: number, cook: number, total: number }} */ { prep, cook, total }) {
  const rest = Math.max(0, total - prep - cook), most = (/** @type {number} */ n) => Math.min(LONGEST, n);
  return cook === 0 ? { prepMinutes: most(prep), cookMinutes: most(rest) } : { prepMinutes: most(prep || rest), cookMinutes: most(cook) };
}

/** Minutes as people write them: "1 h 30 min", "1.5 hours". 0 where there are none. */
function spoken(/** @type {string} */ text) {
  let sum = 0;
  for (const [, n, unit] of text.matchAll(/(\d+(?:[.,]\d+)?)\s*(h|m)/gi)) sum += Number(n.replace(",", ".")) * (unit.toLowerCase() === "h" ? 60 : 1);
  return Math.round(sum);
}

/** ISO 8601: PT1H30M. */
function minutes(/** @type {unknown} */ iso) {
  const m = /^P(?:(\d+)D)?T?(?:(\d+)H)?(?:(\d+)M)?/.exec(String(iso ?? ""));
  return m ? Number(m[1] ?? 0) * 1440 + Number(m[2] ?? 0) * 60 + Number(m[3] ?? 0) : 0;
}

const clean = (/** @type {string} */ s) => s.replace(/<[^>]*>/g, " ").replace(/&amp;/g, "&").replace(/&nbsp;/g, " ").replace(/&#39;|&apos;/g, "'").replace(/&quot;/g, '"').replace(/\s+/g, " ").trim();

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

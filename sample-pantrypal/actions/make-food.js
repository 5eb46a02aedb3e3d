// A food that the catalogue does not have becomes one of the household's own.
export const action = {
  title: "Make a food",
  description: "Makes a food of the household's own, or a thing such as toilet paper, of a name that the catalogue does not have. What is not sent (aisle, allergens, diets, shelf life) is guessed from a similar food, and the answer says so; lots, lines of lists and of own recipes that are called so join it. Patch the Food to set a guess right.",
  input: {
    type: "object",
    properties: {
      name: { type: "string", minLength: 1, maxLength: 120, pattern: "\\S" },
      names: { type: "array", maxItems: 20, items: { type: "string", maxLength: 120, pattern: "\\S" }, description: "Other names for it." },
      like: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name of a similar food; without it, the one with the most similar name." },
      thing: { type: "boolean", default: false, description: "No food: it is bought and kept, and never cooked." },
      aisle: { type: "string", minLength: 1, maxLength: 40 },
      unit: { enum: ["g", "kg", "ml", "l", "piece", "bunch", "can", "bottle", "jar", "pack", "bar", "head", "bulb", "loaf"], description: "In what it is counted as a rule." },
      allergens: { type: "array", items: { enum: ["gluten", "crustaceans", "eggs", "fish", "peanuts", "soy", "milk", "nuts", "celery", "mustard", "sesame", "sulphites", "lupin", "molluscs"] }, description: "All that it contains; none: []." },
      diet: { enum: ["vegan", "vegetarian", "pescatarian", "none"], description: "The strictest that it suits." },
      pantryDays: { type: "integer", minimum: 0, maximum: 5000, description: "How many days it keeps there." }, fridgeDays: { type: "integer", minimum: 0, maximum: 5000 }, freezerDays: { type: "integer", minimum: 0, maximum: 5000 },
    },
    required: ["name"],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["foodId", "name", "made", "aisle", "guessed", "like", "said"],
    properties: {
      foodId: { type: "string" }, name: { type: "string" }, aisle: { type: "string" },
      made: { type: "boolean", description: "false: there was a food of this name, and it is as it was." },
      guessed: { type: "array", items: { type: "string" }, description: "What nobody has said: aisle, allergens, diets, shelfLife." },
      like: { type: ["string", "null"], description: "Name of the food from which it was guessed." },
      said: { type: "string", description: "All of that in words." },
    },
  },
  effects: {},
  examples: [{ name: "Oat cuisine", like: "Cream" }],
};

const DIETS = ["vegan", "vegetarian", "pescatarian"];

/** @param {SDK.Actions.MakeFoodInput} input */
export default ({ name, names, like, thing = false, aisle, unit, allergens, diet, pantryDays, fridgeDays, freezerDays }) => {
  const title = name.trim().replace(/^./u, (c) => c.toUpperCase()), [found] = SDK.Actions.findFood({ names: [title, ...(like ? [like] : [])] }).found;
  const there = found.food && SDK.Entities.Food.getById(found.food.id);
  if (there && SDK.Actions.matchNames({ name: title, among: [there.name, ...(there.aliases ?? []), ...(there.ownNames ?? [])] }).same.length) {
    return { foodId: there.id, name: there.name, made: false, aisle: there.aisle, guessed: there.guessed ?? [], like: null, said: there.name + " is a food already, and nothing was made." };
  }
  const food = SDK.Entities.Food.upsert({
    name: title, ...(names ? { aliases: names } : {}), ...(like ? { like: idOf(like) } : {}), thing, ...(aisle ? { aisle } : {}), ...(unit ? { unit } : {}), ...(allergens ? { allergens } : {}),
    ...(diet ? { diets: diet === "none" ? [] : DIETS.slice(DIETS.indexOf(diet)) } : {}),
    ...(pantryDays === undefined && fridgeDays === undefined && freezerDays === undefined ? {} : { shelfLifePantry: pantryDays ?? null, shelfLifeFridge: fridgeDays ?? null, shelfLifeFreezer: freezerDays ?? null }),
  });
  const similar = food.like ? SDK.Entities.Food.getById(food.like).name : null, guessed = food.guessed ?? [];
  return {
    foodId: food.id, name: food.name, made: true, aisle: food.aisle, guessed, like: guessed.length ? similar : null,
    said: food.name + (food.thing ? " is a thing of the household now" : " is a food of the household now") + ", in the aisle " + food.aisle + (guessed.length ? "; " + (similar ? "guessed from " + similar : "not known yet") + ": " + guessed.map((g) => WORDS[g] ?? g).join(", ") : "") + ".",
  };
};

/** @type {Record<string, string>} */
const WORDS = { shelfLife: "how long it keeps", diets: "whom it suits" };

/** The id of a food by its id or name. */
const idOf = (/** @type {string} */ like) => {
  if (SDK.Entities.Food.findById(like)) return like;
  const [{ food, candidates }] = SDK.Actions.findFood({ names: [like] }).found;
  if (!food) throw Object.assign(new Error('There is no food "' + like + '" that it could be like.'), { path: "/like", hint: candidates.length ? "Did you mean " + candidates.map((c) => c.name).join(", ") + "?" : "Leave like out." });
  return food.id;
};

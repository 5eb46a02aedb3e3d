// Says what an unknown barcode is, and puts away what had been seen of it.
export const action = {
  title: "Say what a code is",
  description: "Says what an unknown barcode, or another code, is: makes or completes its product. What photos showed of it (open detections) becomes lots in the pantry.",
  input: {
    type: "object",
    properties: {
      code: { type: "string", minLength: 1, maxLength: 8192, description: "The code of an open Detection; or a product's number: EAN-13, EAN-8, UPC-A or ITF-14." },
      food: { type: "string", maxLength: 120, pattern: "\\S", description: "Id or name of the food, or of the thing. One that nobody knows is made: make-food says more of it." },
      name: { type: "string", minLength: 1, maxLength: 120, description: "What the package says; without it, the food's name." },
      brand: { type: "string", maxLength: 80 },
      packageAmount: { type: "number", exclusiveMinimum: 0, maximum: 100000, description: "Of one package." },
      packageUnit: { enum: ["g", "kg", "ml", "cl", "l", "piece"] },
    },
    required: ["code", "food", "packageAmount", "packageUnit"],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["productId", "food", "resolved", "lots"],
    properties: {
      productId: { type: "string" }, name: { type: "string" },
      food: { type: "object", required: ["foodId", "name", "made", "said"], properties: { foodId: { type: "string" }, name: { type: "string" }, made: { type: "boolean", description: "It is a new food of the household." }, said: { type: "string", description: "What was made, and what of it was guessed." }, alike: { type: "array", items: { type: "string" }, description: "Foods that may have been meant; merge-foods joins them." } } },
      resolved: { type: "integer", description: "Open detections." },
      lots: { type: "array", items: { type: "object", required: ["lotId", "name", "amount", "unit"], properties: { lotId: { type: "string" }, name: { type: "string" }, amount: { type: "number" }, unit: { type: "string" } } } },
    },
  },
  effects: {},
  examples: [{ code: "2000000000992", food: "pasta", packageAmount: 500, packageUnit: "g" }],
};

/** @param {SDK.Actions.LearnProductInput} input */
export default ({ code, food, name, brand, packageAmount, packageUnit }) => {
  const barcode = asRead(code);
  const { match, made } = foodOf(food);
  const there = SDK.Entities.Product.firstPage(1, { filter: { barcodes: { $has: barcode } }, count: false }).items[0];
  if (there && there.state === "confirmed" && there.foodId && there.foodId !== match.id) {
    refuse("/code", "The code " + barcode + " is " + there.name + " already.", "Patch the product " + there.id + " if that is wrong.");
  }
  const product = SDK.Entities.Product.upsert({
    ...(there ? { id: there.id } : {}), name: name ?? there?.name ?? match.name, ...(brand === undefined ? {} : { brand }), barcodes: there?.barcodes ?? [barcode],
    foodId: match.id, packageAmount, packageUnit, state: "confirmed",
  });
  const open = SDK.Entities.Detection.all({ filter: { value: barcode, status: "open" }, sort: "id" });
  const byPhoto = new Map();
  for (const d of open) byPhoto.set(d.photoId, [...(byPhoto.get(d.photoId) ?? []), d]);
  const [t] = SDK.Actions.stow({ foodIds: [match.id] }).things;
  const lots = [];
  for (const seen of byPhoto.values()) {
    const amount = seen.length * packageAmount;
    const lot = SDK.Entities.PantryItem.upsert({
      name: product.name, foodId: match.id, productId: product.id, amount, unit: packageUnit, place: /** @type {SDK.Entities.PantryItem["place"]} */ (t.place), bestBefore: t.bestBefore, source: "photo", reason: "bought", detectionId: seen[0].id,
    });
    for (const d of seen) SDK.Entities.Detection.patch(d.id, { status: "resolved", productId: product.id, pantryItemId: lot.id });
    lots.push({ lotId: lot.id, name: lot.name, amount, unit: packageUnit });
  }
  return { productId: product.id, name: product.name, food: made, resolved: open.length, lots };
};

/** The food of an id or name; what nobody knows becomes a food of the household. */
const foodOf = (/** @type {string} */ food) => {
  const known = SDK.Entities.Food.findById(food), [found] = known ? [] : SDK.Actions.findFood({ names: [food] }).found;
  const match = known ?? found?.food;
  if (match) return { match, made: { foodId: match.id, name: match.name, made: false, said: "It is " + match.name + ".", alike: [] } };
  const { foodId, name, said } = SDK.Actions.makeFood({ name: food });
  return { match: { id: foodId, name }, made: { foodId, name, made: true, said, alike: found?.candidates.map((c) => c.name) ?? [] } };
};

/** The code as readers return it: what a photo shows is taken as it is, else it has to be a product's number. */
const asRead = (/** @type {string} */ code) => {
  if (SDK.Entities.Detection.count({ value: code }) > 0) return code;
  const number = code.length === 12 ? "0" + code : code;
  if (!/^(\d{8}|\d{13}|\d{14})$/.test(number)) refuse("/code", "This is not the number of a product, and no photo shows it as a code.", "Send the value of an open Detection, or an EAN-13, EAN-8, UPC-A or ITF-14.");
  if (!valid(number)) refuse("/code", code + " is not a barcode: its last digit does not fit the others.", "Read it again from the package.");
  return number;
};

/** Whether the check digit fits: from the right, digits count once and three times in turn. */
const valid = (/** @type {string} */ code) => [...code].reverse().reduce((sum, digit, i) => sum + Number(digit) * (i % 2 ? 3 : 1), 0) % 10 === 0;

/**
 * Refuses the input at a path, and says what to send instead.
 * @type {(path: string, message: string, hint?: string) => never}
 */
const refuse = (path, message, hint) => { throw Object.assign(new Error(message), { path, hint }); };

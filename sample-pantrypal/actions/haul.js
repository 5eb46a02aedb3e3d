// A photo of groceries becomes lots in the pantry.
export const action = {
  title: "Put groceries away",
  description: "Reads the barcodes on a photo of groceries and puts what they are into the pantry, each as a lot with its own date. Unknown codes stay open: learn-product says what they are. A photo that was read before changes nothing.",
  input: {
    type: "object",
    properties: {
      photo: { type: "string", minLength: 1, description: "Path of the photo, relative to plugins.vision.root; or send file." },
      file: { type: "string", minLength: 1, description: "Id of the photo, where it was uploaded." },
      storeId: { type: "string", description: "Where it was bought." },
    },
    oneOf: [{ required: ["photo"] }, { required: ["file"] }],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["summary", "lots", "open"],
    properties: {
      summary: { type: "string" },
      photoId: { type: "string" },
      again: { type: "boolean", description: "It was read before." },
      lots: { type: "array", items: { type: "object", required: ["lotId", "name", "amount", "unit", "place", "bestBefore"], properties: { lotId: { type: "string" }, name: { type: "string" }, amount: { type: "number" }, unit: { type: "string" }, place: { type: "string" }, bestBefore: { type: ["string", "null"] } } } },
      open: { type: "array", description: "Codes that no product has.", items: { type: "object", required: ["detectionId", "code"], properties: { detectionId: { type: "string" }, code: { type: "string" }, kind: { type: "string" } } } },
    },
  },
  effects: {},
  examples: [{ photo: "haul.png" }],
};

/** @param {SDK.Actions.HaulInput} input */
export default ({ photo, file, storeId }) => {
  const started = Date.now();
  if (storeId !== undefined && !SDK.Entities.Store.findById(storeId)) {
    throw Object.assign(new Error('There is no store "' + storeId + '".'), { path: "/storeId", hint: "The stores are: " + SDK.Entities.Store.all({ sort: "name" }).map((s) => s.id).join(", ") + "." });
  }
  const { detections: codes, image } = read(photo, file);
  const fileName = (file ? SDK.Files.get(file).name : image.name) || photo || "photo";
  const known = SDK.Entities.PantryPhoto.firstPage(1, { filter: { sha256: image.sha256 }, count: false, with: "detections" }).items[0];
  if (known) {
    const open = known.detections.filter((d) => d.status === "open").map((d) => ({ detectionId: d.id, code: d.value, kind: d.kind }));
    return { summary: fileName + " was put away on " + SDK.Actions.localDays({ times: [known.addedAt] }).days[0] + " already (as " + known.fileName + "): nothing was added twice." + (open.length ? " Open: " + open.map((o) => o.code).join(", ") + "." : ""), photoId: known.id, again: true, lots: [], open };
  }
  const seen = SDK.Entities.PantryPhoto.upsert({
    fileName, fileId: file ?? null, sha256: image.sha256, width: image.width, height: image.height, status: codes.length ? "processed" : "no_codes", processingMs: Date.now() - started,
  });
  if (!codes.length) {
    return { summary: "No barcode can be read on " + fileName + ". A sharper or closer photo may help.", photoId: seen.id, again: false, lots: [], open: [] };
  }

  // Two codes of one product are two packages of it.
  /** @type {Map<string, typeof codes>} */
  const packs = new Map();
  for (const c of codes) packs.set(c.value, [...(packs.get(c.value) ?? []), c]);
  const products = new Map();
  for (const p of SDK.Entities.Product.all({ filter: { $or: [...packs.keys()].map((code) => ({ barcodes: { $has: code } })) } })) {
    for (const code of p.barcodes ?? []) products.set(code, p);
  }
  const foodIds = [...new Set([...products.values()].map((p) => p.foodId).filter((id) => id))];
  const stowed = new Map(SDK.Actions.stow({ foodIds }).things.map((t) => [t.foodId, t]));

  const lots = [], open = [];
  for (const [code, found] of packs) {
    const product = products.get(code);
    const rows = SDK.Entities.Detection.upsertMany(found.map((c) => ({
      photoId: seen.id, kind: c.format, value: c.value, confidence: c.confidence, box: c.box,
      candidates: product ? [product.id] : [], productId: product?.id ?? null, status: product ? "matched" : "open",
    })));
    if (!product) {
      open.push({ detectionId: rows[0].id, code, kind: rows[0].kind });
      continue;
    }
    const t = stowed.get(product.foodId) ?? { place: "pantry", bestBefore: null };
    const amount = found.length * (product.packageAmount ?? 1), unit = product.packageUnit ?? "piece";
    const price = SDK.Entities.Price.firstPage(1, { filter: { productId: product.id, withdrawn: false, ...(storeId ? { storeId } : {}) }, sort: "-on", count: false }).items[0];
    const lot = SDK.Entities.PantryItem.upsert({
      name: product.name, foodId: product.foodId, productId: product.id, amount, unit, place: /** @type {SDK.Entities.PantryItem["place"]} */ (t.place), bestBefore: t.bestBefore,
      source: "photo", reason: "bought", detectionId: rows[0].id, storeId: storeId ?? null,
      unitPrice: price && price.unit === unit && price.amount > 0 ? price.price / price.amount : null,
    });
    for (const d of rows) SDK.Entities.Detection.patch(d.id, { pantryItemId: lot.id });
    lots.push({ lotId: lot.id, name: lot.name, amount, unit, place: lot.place, bestBefore: lot.bestBefore });
  }
  const n = (/** @type {number} */ count, /** @type {string} */ noun) => count + " " + noun + (count === 1 ? "" : "s");
  return {
    summary: fileName + ": " + n(codes.length, "code") + " read, " + n(lots.length, "lot") + " put away" + (open.length ? "; unknown, and open until learn-product says what they are: " + open.map((o) => o.code).join(", ") : "") + ".",
    photoId: seen.id, again: false, lots, open,
  };
};

/** Reads a photo. One that is none, damaged or too large is for who sent it to mend. */
function read(/** @type {string | undefined} */ photo, /** @type {string | undefined} */ file) {
  try {
    return SDK.Vision.detect(file ? { file: { $file: file } } : { path: photo });
  } catch (e) {
    const wrong = /** @type {KoanError} */ (e);
    if (wrong.code !== "invalid_payload" && wrong.code !== "call_too_large") throw e;
    throw Object.assign(new Error(wrong.message), { path: file ? "/file" : "/photo", hint: wrong.hint });
  }
}

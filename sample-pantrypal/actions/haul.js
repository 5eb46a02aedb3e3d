// A photo of groceries becomes lots in the pantry.
export const action = {
  title: "Put groceries away",
  description: "Reads the barcodes on a photo of groceries and puts what they are into the pantry, each as a lot with its own date. Unknown codes stay open: learn-product says what they are. A photo that was read before changes nothing. What another photo of the same haul shows, too, is asked about: send photoId with another or same.",
  input: {
    type: "object",
    properties: {
      photo: { type: "string", minLength: 1, description: "Path of the photo, relative to plugins.vision.root; or send file." },
      file: { type: "string", minLength: 1, description: "Id of the photo, where it was uploaded." },
      photoId: { type: "string", minLength: 1, description: "A photo that was read, to answer what is asked about it." },
      another: { type: "array", maxItems: 200, items: { type: "string", maxLength: 8192 }, description: "Codes, or ids of detections, that are further packages, though another photo shows the code, too." },
      same: { type: "array", maxItems: 200, items: { type: "string", maxLength: 8192 }, description: "Those that are the packages of the other photo." },
      storeId: { type: "string", description: "Where it was bought." },
    },
    oneOf: [{ required: ["photo"] }, { required: ["file"] }, { required: ["photoId"] }],
    additionalProperties: false,
  },
  output: {
    type: "object", required: ["summary", "lots", "open"],
    properties: {
      summary: { type: "string" },
      photoId: { type: "string" },
      again: { type: "boolean", description: "It was read before." },
      lots: { type: "array", items: { type: "object", required: ["lotId", "name", "amount", "unit", "place", "bestBefore"], properties: { lotId: { type: "string" }, name: { type: "string" }, amount: { type: "number" }, unit: { type: "string" }, place: { type: "string" }, bestBefore: { type: ["string", "null"] } } } },
      asked: { type: "array", description: "Codes that another photo shows, too: the same packages, or others?", items: { type: "object", required: ["detectionId", "code", "photoId", "question"], properties: { detectionId: { type: "string" }, code: { type: "string" }, name: { type: ["string", "null"] }, photoId: { type: "string", description: "The other photo." }, question: { type: "string" } } } },
      open: { type: "array", description: "Codes that no product has.", items: { type: "object", required: ["detectionId", "code"], properties: { detectionId: { type: "string" }, code: { type: "string" }, kind: { type: "string" } } } },
    },
  },
  effects: {},
  examples: [{ photo: "haul.png" }],
};

/** @param {SDK.Actions.HaulInput} input */
export default ({ photo, file, photoId, another = [], same = [], storeId }) => {
  const started = Date.now();
  if (storeId !== undefined && !SDK.Entities.Store.findById(storeId)) {
    throw Object.assign(new Error('There is no store "' + storeId + '".'), { path: "/storeId", hint: "The stores are: " + SDK.Entities.Store.all({ sort: "name" }).map((s) => s.id).join(", ") + "." });
  }
  if (photoId !== undefined) return settled(SDK.Entities.PantryPhoto.getById(photoId, { with: "detections" }), another, same, storeId);
  const { detections: codes, image } = read(photo, file);
  const fileName = (file ? SDK.Files.get(file).name : image.name) || photo || "photo";
  const known = SDK.Entities.PantryPhoto.firstPage(1, { filter: { sha256: image.sha256 }, count: false, with: "detections" }).items[0];
  if (known) {
    if (another.length + same.length) return { ...settled(known, another, same, storeId), again: true };
    const { open, asked } = left(known.detections);
    return { summary: fileName + " was put away on " + SDK.Actions.localDays({ times: [known.addedAt] }).days[0] + " already (as " + known.fileName + "): nothing was added twice." + (open.length ? " Open: " + open.map((o) => o.code).join(", ") + "." : ""), photoId: known.id, again: true, lots: [], open, asked };
  }
  const seen = SDK.Entities.PantryPhoto.upsert({
    fileName, fileId: file ?? null, sha256: image.sha256, width: image.width, height: image.height, status: codes.length ? "processed" : "no_codes", processingMs: Date.now() - started, addedAt: new Date(started).toISOString(),
  });
  if (!codes.length) {
    return { summary: "No barcode can be read on " + fileName + ". A sharper or closer photo may help.", photoId: seen.id, again: false, lots: [], open: [], asked: [] };
  }

  // Two codes of one product on one photo are two packages of it; on two photos they may be one.
  const products = productsOf(codes.map((c) => c.value)), twins = twinsOf(seen, codes);
  /** @type {Map<string, SDK.Entities.Detection[]>} */
  const packs = new Map();
  for (const d of SDK.Entities.Detection.upsertMany(codes.map((c, i) => {
    const product = products.get(c.value);
    return {
      photoId: seen.id, kind: c.format, value: c.value, confidence: c.confidence, box: c.box, candidates: product ? [product.id] : [], productId: product?.id ?? null,
      status: !twins[i] || another.includes(c.value) ? product ? "matched" : "open" : same.includes(c.value) ? "dismissed" : "asked",
    };
  }))) packs.set(d.value, [...(packs.get(d.value) ?? []), d]);

  const all = [...packs.values()].flat(), { open, asked } = left(all);
  const lots = putAway(all.filter((d) => d.status === "matched"), products, storeId);
  const n = (/** @type {number} */ count, /** @type {string} */ noun) => count + " " + noun + (count === 1 ? "" : "s");
  return {
    summary: fileName + ": " + n(codes.length, "code") + " read, " + n(lots.length, "lot") + " put away" + (open.length ? "; unknown, and open until learn-product says what they are: " + open.map((o) => o.code).join(", ") : "") +
      (asked.length ? "; on another photo, too, and not put away until somebody says whether they are the same packages: " + asked.map((o) => o.name ?? o.code).join(", ") : "") + ".",
    photoId: seen.id, again: false, lots, open, asked,
  };
};

/** The products that have these codes, by code. */
function productsOf(/** @type {string[]} */ codes) {
  /** @type {Map<string, SDK.Entities.Product>} */
  const products = new Map();
  if (!codes.length) return products;
  for (const p of SDK.Entities.Product.all({ filter: { $or: [...new Set(codes)].map((code) => ({ barcodes: { $has: code } })) } })) {
    for (const code of p.barcodes ?? []) products.set(code, p);
  }
  return products;
}

/** Makes a lot of what was seen of each product. */
function putAway(/** @type {SDK.Entities.Detection[]} */ found, /** @type {Map<string, SDK.Entities.Product>} */ products, /** @type {string | undefined} */ storeId) {
  const foodIds = [...new Set(found.map((d) => products.get(d.value)?.foodId).filter((id) => typeof id === "string"))];
  const stowed = new Map(SDK.Actions.stow({ foodIds }).things.map((t) => [t.foodId, t]));
  const lots = [];
  for (const code of new Set(found.map((d) => d.value))) {
    const rows = found.filter((d) => d.value === code), product = products.get(code);
    if (!product) continue;
    const t = stowed.get(product.foodId ?? "") ?? { place: "pantry", bestBefore: null };
    const amount = rows.length * (product.packageAmount ?? 1), unit = product.packageUnit ?? "piece";
    const price = SDK.Entities.Price.firstPage(1, { filter: { productId: product.id, withdrawn: false, ...(storeId ? { storeId } : {}) }, sort: "-on", count: false }).items[0];
    const lot = SDK.Entities.PantryItem.upsert({
      name: product.name, foodId: product.foodId, productId: product.id, amount, unit, place: /** @type {SDK.Entities.PantryItem["place"]} */ (t.place), bestBefore: t.bestBefore,
      source: "photo", reason: "bought", detectionId: rows[0].id, storeId: storeId ?? null,
      unitPrice: price && price.unit === unit && price.amount > 0 ? price.price / price.amount : null,
    });
    for (const d of rows) SDK.Entities.Detection.patch(d.id, { pantryItemId: lot.id });
    lots.push({ lotId: lot.id, name: lot.name, amount, unit, place: lot.place, bestBefore: lot.bestBefore });
  }
  return lots;
}

/** How long after a photo another one belongs to the same haul. */
const HAUL = 3 * 60 * 60 * 1000;

/** The earlier photos that show one of these codes, newest first: what became of each is of no matter, but for what is nothing of the kitchen. */
const shownBefore = (/** @type {string} */ photoId, /** @type {string[]} */ codes) =>
  SDK.Entities.Detection.firstPage(200, { filter: { $or: [...new Set(codes)].map((value) => ({ value })), photoId: { $ne: photoId }, status: { $in: ["matched", "open", "resolved"] } }, sort: "-id", with: "photo", count: false }).items;

/** @typedef {{ x: number, y: number, width: number, height: number }} Box Where a code lies, in pixels. */

/**
 * Which of the codes may be packages that an earlier photo shows, too: of a photo of the same haul as many as
 * that one shows, and all of a photo that is the same picture once more.
 * @param {SDK.Entities.PantryPhoto} seen
 * @param {{ value: string, box: Box }[]} codes
 */
function twinsOf(seen, codes) {
  const before = shownBefore(seen.id, codes.map((c) => c.value)), now = Date.parse(seen.addedAt);
  const at = (/** @type {Box} */ box, /** @type {{ width: number, height: number }} */ of) => [(box.x + box.width / 2) / of.width, (box.y + box.height / 2) / of.height];
  const photos = new Map(before.map((d) => [d.photoId, before.filter((o) => o.photoId === d.photoId)]));
  /** @type {Map<string, number>} */
  const twins = new Map();
  for (const there of photos.values()) {
    const age = now - Date.parse(there[0].photo?.addedAt ?? "");
    const alike = codes.length > 1 && codes.every((c) => there.some((d) => {
      if (d.value !== c.value || !d.box || !d.photo?.width || !d.photo.height) return false;
      const [x, y] = at(c.box, seen), [u, v] = at(/** @type {Box} */ (d.box), d.photo);
      return Math.abs(x - u) < 0.03 && Math.abs(y - v) < 0.03;
    }));
    if (age > HAUL && !alike) continue;
    for (const c of new Set(codes.map((c) => c.value))) twins.set(c, Math.max(twins.get(c) ?? 0, there.filter((d) => d.value === c).length));
  }
  return codes.map((c) => {
    const many = twins.get(c.value) ?? 0;
    twins.set(c.value, many - 1);
    return many > 0;
  });
}

/** What is still to be said of a photo. */
function left(/** @type {SDK.Entities.Detection[]} */ detections) {
  const of = (/** @type {string} */ status) => {
    /** @type {Map<string, SDK.Entities.Detection>} */
    const codes = new Map();
    for (const d of detections) if (d.status === status && !codes.has(d.value)) codes.set(d.value, d);
    return [...codes.values()];
  };
  const open = of("open").map((d) => ({ detectionId: d.id, code: d.value, kind: d.kind }));
  const doubtful = of("asked"), names = productsOf(doubtful.map((d) => d.value));
  const asked = doubtful.map((d) => {
    const name = names.get(d.value)?.name ?? null, other = shownBefore(d.photoId, [d.value])[0];
    return { detectionId: d.id, code: d.value, name, photoId: other?.photoId ?? d.photoId, question: "Another photo shows " + (name ?? d.value) + ", too. Is it the same package, or another one?" };
  });
  return { open, asked };
}

/** Takes the answers to what is asked about a photo. */
function settled(/** @type {SDK.Entities.PantryPhoto} */ photo, /** @type {string[]} */ another, /** @type {string[]} */ same, /** @type {string | undefined} */ storeId) {
  const waiting = (photo.detections ?? []).filter((d) => d.status === "asked"), products = productsOf(waiting.map((d) => d.value));
  const said = (/** @type {string[]} */ those) => waiting.filter((d) => those.includes(d.id) || those.includes(d.value));
  const more = said(another).filter((d) => !said(same).includes(d));
  for (const d of said(same)) SDK.Entities.Detection.patch(d.id, { status: "dismissed" });
  for (const d of more) SDK.Entities.Detection.patch(d.id, { status: products.has(d.value) ? "matched" : "open", productId: products.get(d.value)?.id ?? null });
  const lots = putAway(more, products, storeId);
  const after = SDK.Entities.Detection.all({ filter: { photoId: photo.id }, sort: "id" });
  return { summary: more.length + " further packages, " + said(same).length + " that another photo shows.", photoId: photo.id, again: false, lots, ...left(after) };
}

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

// A photo of groceries becomes lots in the pantry, in one run: what an agent would send if there
// were no action haul.
//
//   args.photo   the photo, as a path below plugins.vision.root
//
// It answers {summary, lots, open}. A photo that was read before (its digest is known) changes nothing.

const DAY = 24 * 60 * 60 * 1000;

/** @param {string} photo */
function groceryHaul(photo) {
  const { detections: codes, image } = SDK.Vision.detect({ path: photo });
  const fileName = image.name ?? photo;
  const known = SDK.Entities.PantryPhoto.firstPage(1, { filter: { sha256: image.sha256 }, count: false }).items[0];
  if (known) return { summary: `${fileName} was put away already, as ${known.fileName}: nothing was added twice.`, lots: [], open: [] };
  const seen = SDK.Entities.PantryPhoto.upsert({ fileName, sha256: image.sha256, width: image.width, height: image.height, status: codes.length ? "processed" : "no_codes" });
  if (!codes.length) return { summary: `There is no barcode to be read on ${fileName}.`, lots: [], open: [] };

  // All products in one query, with their foods: those know where things are kept, and for how long.
  const values = [...new Set(codes.map((c) => c.value))];
  const products = SDK.Entities.Product.all({ filter: { $or: values.map((value) => ({ barcodes: { $has: value } })) }, with: "food" });
  const productOf = new Map(products.flatMap((p) => (p.barcodes ?? []).map((code) => [code, p])));
  const detections = SDK.Entities.Detection.upsertMany(codes.map((c) => {
    const product = productOf.get(c.value);
    return { photoId: seen.id, kind: c.format, value: c.value, confidence: c.confidence, box: c.box, candidates: product?.id ? [product.id] : [], productId: product?.id ?? null, status: product ? "matched" : "open" };
  }));

  const now = Date.now();
  const lots = SDK.Entities.PantryItem.upsertMany(values.filter((value) => productOf.has(value)).map((value) => {
    const product = productOf.get(value), food = product?.food, packages = detections.filter((d) => d.value === value);
    const place = food?.aisle === "frozen" ? "freezer" : (food?.shelfLifePantry ?? 0) >= 21 || !food?.shelfLifeFridge ? "pantry" : "fridge";
    const days = place === "freezer" ? food?.shelfLifeFreezer : place === "fridge" ? food?.shelfLifeFridge : food?.shelfLifePantry;
    return {
      name: product?.name ?? value, foodId: product?.foodId, productId: product?.id, detectionId: packages[0]?.id, source: "photo", reason: "bought",
      amount: packages.length * (product?.packageAmount ?? 1), unit: product?.packageUnit ?? "piece", place, bestBefore: days ? new Date(now + days * DAY).toISOString().slice(0, 10) : null,
    };
  }));
  const open = values.filter((value) => !productOf.has(value));
  return {
    summary: `${fileName}: ${codes.length} codes read, ${lots.length} lots put away, ${open.length} unknown.`,
    lots: lots.map((l) => ({ name: l.name, amount: l.amount, unit: l.unit, place: l.place, bestBefore: l.bestBefore })),
    open,
  };
}

if (typeof SDK.args?.photo !== "string" || !SDK.args.photo) {
  throw new TypeError("args.photo is missing: send the photo's path, relative to plugins.vision.root");
}
SDK.Out.answer(groceryHaul(SDK.args.photo));

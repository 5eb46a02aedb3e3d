// A photo of groceries becomes pantry items and up to three dinners, in one run.
//
//   args.photo   the photo, as a path below plugins.vision.root
//
// It answers {summary, newItems, updatedItems, dinners, unmatched, notes}. A photo
// that was put away before (its digest is known) changes nothing.

const DAY = 24 * 60 * 60 * 1000;
const SOON = 7; // days within which something counts as expiring soon
const DINNERS = 3;
const DINNER_HOUR = 18; // UTC
const ENOUGH = 0.6; // a dinner needs this share of its ingredients in the house

/** @type {Record<string, number>} days that a product without a shelf life of its own keeps */
const SHELF_LIFE = { produce: 5, dairy: 7, bakery: 3, meat: 3, seafood: 2 };

/** @type {Record<string, "fridge" | "freezer">} */
const PLACE = { produce: "fridge", dairy: "fridge", meat: "fridge", seafood: "fridge", frozen: "freezer" };

/** @type {Record<string, [kind: string, factor: number]>} */
const UNITS = { g: ["mass", 1], kg: ["mass", 1000], ml: ["volume", 1], l: ["volume", 1000] };

const QUALIFIERS = new Set(["fresh", "organic", "whole", "large", "small", "ripe", "dried", "chopped"]);

// --- What is read, with the fields that matter here -------------------------

/**
 * Something in the house; `expires` in ms, Infinity if it keeps.
 * @typedef {ReturnType<typeof lotOf>} Lot
 * @param {SDK.Entities.PantryItem} i
 */
const lotOf = (i) => ({
  id: i.id ?? "", productId: i.productId ?? null, name: i.name ?? "", key: keyOf(i.name), left: i.quantity ?? 0, unit: i.unit ?? "",
  expires: i.expiresAt ? Date.parse(i.expiresAt) : Infinity, staple: i.isStaple === true,
});

/**
 * A recipe with what it needs.
 * @typedef {ReturnType<typeof dishOf>} Dish
 * @param {SDK.Entities.Recipe} r
 */
const dishOf = (r) => ({
  id: r.id ?? "", name: r.name ?? "", cuisine: r.cuisine ?? "", meals: r.mealTypes ?? [], tags: r.dietaryTags ?? [],
  minutes: (r.prepMinutes ?? 0) + (r.cookMinutes ?? 0), servings: r.servings ?? 1, rating: r.rating ?? 0,
  parts: (r.ingredients ?? []).map((p) => ({ name: p.name ?? "", key: keyOf(p.name), amount: p.amount ?? 0, unit: p.unit ?? "", optional: p.optional === true })),
});

/**
 * The key under which names of the same thing meet: "Fresh tomatoes" and
 * "tomato", but not "coconut milk" and "milk".
 * @param {string | null | undefined} name
 */
function keyOf(name) {
  const words = (name ?? "").toLowerCase().split(/[\s,()/-]+/).filter((w) => w && !QUALIFIERS.has(w));
  return words.map((w) => w.replace(/ies$/, "y").replace(/oes$/, "o").replace(/s$/, "")).sort().join(" ");
}

/**
 * Converts between units of one kind. A gram is never a millilitre and never a
 * piece: then it returns null, and the caller keeps the two apart.
 * @param {number} amount @param {string} from @param {string} to
 */
function convert(amount, from, to) {
  if (from === to) return amount;
  const a = UNITS[from], b = UNITS[to];
  return a && b && a[0] === b[0] ? (amount * a[1]) / b[1] : null;
}

// --- Putting away -----------------------------------------------------------

/**
 * Adds the packages on the photo to what is there, or makes new items of them.
 * @param {SDK.Entities.Product[]} products @param {Map<string, {count: number, detectionId: string}>} packs by barcode
 * @param {Lot[]} lots @param {number} now
 */
function putAway(products, packs, lots, now) {
  /** @type {SDK.Entities.PantryItem[]} */
  const models = [];
  const newItems = [], updatedItems = [], notes = [];
  for (const p of products) {
    const pack = packs.get(p.gtin ?? "");
    if (!pack) continue;
    const name = p.name ?? "", unit = p.defaultUnit ?? "piece", amount = pack.count * (p.defaultQuantity ?? 1);
    const days = p.shelfLifeDays ?? SHELF_LIFE[p.category ?? "other"];
    const fresh = days ? now + days * DAY : Infinity;
    const link = { productId: p.id, detectionId: pack.detectionId };
    // What is past its date stays an item of its own: fresh stock does not make it good.
    const mine = lots.filter((l) => l.expires > now && (l.productId ? l.productId === p.id : l.key === keyOf(name)));
    const same = mine.find((l) => convert(amount, unit, l.unit) !== null);
    if (same) {
      const quantity = tidy(same.left + (convert(amount, unit, same.unit) ?? 0));
      // The older stock is eaten first, so its date stays as long as some is left.
      const expires = same.left > 0 && same.expires < Infinity ? Math.min(same.expires, fresh) : fresh;
      models.push({ id: same.id, quantity, expiresAt: iso(expires), ...link });
      updatedItems.push({ name: same.name, added: show(amount, unit), now: show(quantity, same.unit), expires: day(expires) });
      continue;
    }
    if (mine[0]) notes.push(`${name} is already there in ${mine[0].unit}, which ${unit} does not convert to: the new ${show(amount, unit)} is an item of its own.`);
    const location = PLACE[p.category ?? "other"] ?? "pantry";
    models.push({ name, quantity: amount, unit, category: p.category, location, expiresAt: iso(fresh), source: "photo", ...link });
    newItems.push({ name, quantity: show(amount, unit), location, expires: day(fresh) });
  }
  return { models, newItems, updatedItems, notes };
}

// --- Choosing dinners -------------------------------------------------------

/**
 * The dishes that this household may and wants to eat for dinner.
 * @param {Dish[]} dishes @param {SDK.Entities.HouseholdProfile} home
 */
function suitable(dishes, home) {
  const allergies = new Set(home.allergies ?? []), words = (home.allergies ?? []).map(keyOf);
  const dislikes = new Set((home.dislikes ?? []).map(keyOf));
  // Products know what contains what; an ingredient that is named like the
  // allergen counts as well. Optional ones too: with allergies nobody should
  // have to read closely.
  const products = allergies.size ? SDK.Entities.Product.all({ fields: ["name", "allergens"] }) : [];
  const harmful = new Set(products.filter((p) => p.allergens?.some((a) => allergies.has(a))).map((p) => keyOf(p.name)));
  return dishes.filter((d) => d.meals.includes("dinner")
    && (!home.diet || home.diet === "none" || d.tags.includes(home.diet))
    && !d.parts.some((p) => harmful.has(p.key) || p.key.split(" ").some((w) => words.includes(w)) || (!p.optional && dislikes.has(p.key))));
}

/**
 * How well a dish fits what is there on an evening. The score is
 *   0.55 x how much of its required ingredients is there (staples do not count)
 * + 0.30 x how much it uses of what expires soon, the nearest date weighing most
 * + 0.10 x rating / 5
 * + 0.05   if the household's favourites name it, its cuisine or an ingredient.
 * @param {Dish} dish @param {Lot[]} stock by date @param {number} evening @param {number} servings @param {Set<string>} favourites
 */
function rate(dish, stock, evening, servings, favourites) {
  /** @type {Map<Lot, number>} */
  const taken = new Map();
  const usesSoon = new Set(), toBuy = [];
  let there = 0, required = 0, urgency = 0;
  for (const part of dish.parts) {
    const lots = stock.filter((l) => l.key === part.key && l.left > 0 && l.expires > evening);
    if (lots.some((l) => l.staple)) continue;
    let need = (part.amount * servings) / dish.servings;
    const all = need;
    for (const lot of lots) {
      if (need <= all / 1000) break;
      const want = convert(need, part.unit, lot.unit);
      // A clove out of a bulb, a spoon out of a bag: what does not convert is
      // taken to be enough, and nothing is taken off.
      const take = want === null ? 0 : Math.min(want, lot.left);
      need -= want === null ? need : (need * take) / want;
      taken.set(lot, (taken.get(lot) ?? 0) + take);
      const days = (lot.expires - evening) / DAY;
      if (days <= SOON) {
        usesSoon.add(lot.name);
        urgency += 1 - days / (SOON + 1);
      }
    }
    if (part.optional) continue;
    required++;
    there += 1 - need / all;
    if (need > all / 1000) toBuy.push(need < all ? `more ${part.name}` : part.name);
  }
  const liked = [dish.name, dish.cuisine].some((n) => favourites.has(keyOf(n))) || dish.parts.some((p) => favourites.has(p.key));
  const availability = required ? there / required : 0;
  const score = 0.55 * availability + 0.3 * Math.min(1, urgency / 2) + 0.1 * (dish.rating / 5) + (liked ? 0.05 : 0);
  return { dish, servings, score: availability < ENOUGH ? 0 : score, usesSoon: [...usesSoon], toBuy, taken };
}

/**
 * Picks one dinner per evening and takes off what it uses, so that no egg is
 * planned twice.
 * @param {Dish[]} dishes @param {Lot[]} lots @param {number} now @param {SDK.Entities.HouseholdProfile} home
 */
function chooseDinners(dishes, lots, now, home) {
  const stock = lots.map((l) => ({ ...l })).sort((a, b) => a.expires - b.expires || (a.name < b.name ? -1 : 1));
  const favourites = new Set((home.favourites ?? []).map(keyOf));
  const today = Math.floor(now / DAY) * DAY + (DINNER_HOUR * DAY) / 24;
  /** @type {(ReturnType<typeof rate> & {evening: number})[]} */
  const chosen = [];
  for (let evening = today > now ? today : today + DAY; chosen.length < DINNERS; evening += DAY) {
    const weekend = [0, 6].includes(new Date(evening).getUTCDay());
    const minutes = (weekend ? home.weekendMinutes : home.weekdayMinutes) ?? 60;
    const [best] = dishes
      .filter((d) => d.minutes <= minutes && !chosen.some((c) => c.dish.id === d.id))
      .map((d) => rate(d, stock, evening, home.size ?? d.servings, favourites))
      .sort((a, b) => b.score - a.score || (a.dish.name < b.dish.name ? -1 : 1));
    if (!best || best.score === 0) break;
    for (const [lot, amount] of best.taken) lot.left -= amount;
    chosen.push({ ...best, evening });
  }
  return chosen;
}

// --- The job ----------------------------------------------------------------

/** @param {string} path */
function groceryHaul(path) {
  const nothing = { newItems: [], updatedItems: [], dinners: [], unmatched: [], notes: [] };
  const started = Date.now();
  const { image, detections: codes } = SDK.Vision.detect({ path });
  const now = Date.now();
  const fileName = image.name || path;

  const [known] = SDK.Entities.PantryPhoto.firstPage(1, { filter: { sha256: image.sha256 }, count: false }).items;
  if (known) {
    return { summary: `${fileName} was already put away on ${(known.addedAt ?? "").slice(0, 10)}, as ${known.fileName}: nothing was added twice.`, ...nothing };
  }
  const photo = SDK.Entities.PantryPhoto.upsert({
    fileName, sha256: image.sha256, width: image.width, height: image.height, status: codes.length ? "processed" : "no_codes", processingMs: now - started,
  });
  if (!codes.length) {
    return { summary: `There is no barcode to be read on ${fileName}. A sharper or closer photo may help.`, ...nothing };
  }

  const products = SDK.Entities.Product.all({ filter: { gtin: { $in: [...new Set(codes.map((c) => c.value))] } } });
  const productOf = new Map(products.map((p) => [p.gtin ?? "", p]));
  const detections = SDK.Entities.Detection.upsertMany(codes.map((c) => {
    const product = productOf.get(c.value);
    return {
      photoId: photo.id, kind: c.format, value: c.value, confidence: c.confidence, box: c.box,
      candidates: product?.id ? [product.id] : [], status: product ? "matched" : "unmatched",
    };
  }));
  /** @type {Map<string, {count: number, detectionId: string}>} two codes of one product are two packages of it */
  const packs = new Map();
  for (const d of detections) packs.set(d.value ?? "", { count: (packs.get(d.value ?? "")?.count ?? 0) + 1, detectionId: d.id ?? "" });

  const before = SDK.Entities.PantryItem.all({ filter: { status: "available" } });
  const { models, newItems, updatedItems, notes } = putAway(products, packs, before.map(lotOf), now);
  const changed = models.length ? SDK.Entities.PantryItem.upsertMany(models) : [];
  if (changed.length) {
    const itemOf = new Map(changed.map((i) => [i.productId, i.id]));
    const matched = detections.filter((d) => d.status === "matched");
    SDK.Entities.Detection.upsertMany(matched.map((d) => ({ id: d.id, pantryItemId: itemOf.get(productOf.get(d.value ?? "")?.id) })));
  }
  const lots = [...before.filter((i) => !changed.some((c) => c.id === i.id)), ...changed].map(lotOf);

  const home = SDK.Entities.HouseholdProfile.firstPage(1, { count: false }).items[0] ?? {};
  const dishes = suitable(SDK.Entities.Recipe.all({ with: "ingredients" }).map(dishOf), home);
  const dinners = chooseDinners(dishes, lots, now, home);
  const first = dinners[0], last = dinners[dinners.length - 1];
  if (first && last) {
    const plan = SDK.Entities.MealPlan.upsert({ name: `Dinners after ${fileName}`, start: time(first.evening), end: time(last.evening) });
    SDK.Entities.PlannedMeal.upsertMany(dinners.map((d) => ({
      planId: plan.id, recipeId: d.dish.id, scheduledFor: time(d.evening), mealType: "dinner", servings: d.servings,
      notes: d.toBuy.length ? `To buy: ${d.toBuy.join(", ")}.` : "Everything is in the house.",
    })));
  } else {
    notes.push("No recipe fits what is in the house, so no dinner is planned.");
  }
  const past = lots.filter((l) => l.expires <= now);
  if (past.length) notes.push(`Past its date: ${past.map((l) => l.name).join(", ")}.`);
  const unmatched = detections.filter((d) => d.status === "unmatched").map((d) => ({ value: d.value, kind: d.kind }));
  return {
    summary: `${fileName}: ${some(codes.length, "code")} read, ${some(newItems.length, "new item")}, ${updatedItems.length} updated, ${unmatched.length} unknown; ${some(dinners.length, "dinner")} planned.`,
    newItems,
    updatedItems,
    dinners: dinners.map((d) => ({ date: day(d.evening), name: d.dish.name, minutes: d.dish.minutes, servings: d.servings, usesSoon: d.usesSoon, toBuy: d.toBuy })),
    unmatched,
    notes,
  };
}

/** @param {number} amount @param {string} unit */
function show(amount, unit) {
  const bigger = unit === "g" ? "kg" : unit === "ml" ? "l" : "";
  if (bigger && amount >= 1000) return `${tidy(amount / 1000)} ${bigger}`;
  return unit === "piece" ? `${tidy(amount)}` : `${tidy(amount)} ${unit}`;
}
/** @param {number} n */
const tidy = (n) => Math.round(n * 1000) / 1000;
/** @param {number} ms */
const time = (ms) => new Date(ms).toISOString();
/** @param {number} ms */
const iso = (ms) => (ms === Infinity ? null : time(ms));
/** @param {number} ms */
const day = (ms) => (ms === Infinity ? "keeps" : time(ms).slice(0, 10));
/** @param {number} n @param {string} noun */
const some = (n, noun) => `${n} ${noun}${n === 1 ? "" : "s"}`;

if (typeof SDK.args?.photo !== "string" || !SDK.args.photo) {
  throw new TypeError("args.photo is missing: send the photo's path, relative to plugins.vision.root");
}
SDK.Out.answer(groceryHaul(SDK.args.photo));

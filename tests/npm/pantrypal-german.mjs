// A German household opens each page of PantryPal, in Chromium. Prints one line of JSON for each story:
// {story, error, looked}.
//
//   node pantrypal-german.mjs LINK ENGLISH GERMAN PHOTO
//
// LINK signs in, once. ENGLISH and GERMAN are the files of texts, and PHOTO has a code that nobody knows.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import net from "node:net";
import puppeteer from "puppeteer-core";

const [link, english, german, photo] = process.argv.slice(2);
const server = new URL(link);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const forms = (file) => Object.entries(JSON.parse(readFileSync(file, "utf8"))).flatMap(([key, text]) => (typeof text === "string" ? [text] : Object.values(text)).map((form) => [key, form]));
const inEnglish = new Map(forms(english).map(([key, form]) => [form, key])), inGerman = new Set(forms(german).map(([, form]) => form));

// The browser comes by a wire that can be cut, as a phone's can.
const wire = { cut: false, sockets: new Set() };
const proxy = net.createServer((near) => {
  if (wire.cut) return near.destroy();
  const far = net.connect(server.port, server.hostname);
  wire.sockets.add(near);
  near.pipe(far).pipe(near);
  for (const [one, other] of [[near, far], [far, near]]) {
    one.on("error", () => other.destroy());
    one.on("close", () => (other.destroy(), wire.sockets.delete(near)));
  }
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${proxy.address().port}`;
function cut(on) {
  wire.cut = on;
  if (on) for (const s of wire.sockets) s.destroy();
}

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run", "--lang=de-DE", "--accept-lang=de-DE,de"] });

function check(ok, what) {
  if (!ok) throw new Error(what);
}
function same(is, want, what) {
  check(JSON.stringify(is) === JSON.stringify(want), `${what}: ${JSON.stringify(is)}, want ${JSON.stringify(want)}`);
}

async function call(method, path, body) {
  const r = await fetch(server.origin + path, { method, headers: { "Content-Type": "application/json" }, body: body && JSON.stringify(body) });
  return r.status === 204 ? null : r.json();
}

async function page() {
  const p = await browser.newPage();
  await p.setViewport({ width: 390, height: 844, isMobile: true, hasTouch: true });
  p.setDefaultTimeout(60000);
  p.wrong = [];
  p.on("pageerror", (e) => p.wrong.push(e.message));
  return p;
}
const open = (p, path) => p.goto(base + path, { waitUntil: "domcontentloaded" });
const says = (p, text, selector = "body") => p.waitForFunction((s, t) => document.querySelector(s)?.innerText.includes(t), { polling: 50 }, selector, text);
const ready = (p) => p.waitForFunction(() => typeof refresh === "function" && document.readyState === "complete", { polling: 50 });
const speaks = (p) => p.evaluate(() => document.documentElement.lang);
async function press(p, selector) {
  await (await p.waitForSelector(selector)).evaluate((e) => e.scrollIntoView({ block: "center" })); // from under the bar
  await Promise.all([p.waitForNavigation({ waitUntil: "domcontentloaded" }), p.click(selector)]);
}

// What a household's data says is as somebody wrote it, in whatever language.
const written = ["name", "steps", "description", "text", "preparation", "note", "notes", "aliases", "ownNames", "source", "what", "brand", "value", "itemName", "fileName", "unit", "barcodes", "currency", "timeZone", "dislikes"];
async function data() {
  const said = new Set();
  const take = (value) => (Array.isArray(value) ? value.forEach(take) : typeof value === "string" && value.length > 1 && said.add(value.toLowerCase()));
  const walk = (row) => {
    for (const [key, value] of Object.entries(row ?? {})) {
      if (written.includes(key)) take(value);
      if (value && typeof value === "object") (Array.isArray(value) ? value : [value]).forEach((v) => typeof v === "object" && walk(v));
    }
  };
  for (const entity of ["recipe", "recipe-ingredient", "food", "product", "pantry-item", "planned-meal", "plan-rule", "shopping-list", "shopping-item", "store", "household", "leftover", "detection", "pantry-event", "meal-plan"]) {
    for (let cursor = ""; cursor !== null;) {
      const got = await call("GET", `/api/${entity}?pageSize=200${cursor && "&cursor=" + encodeURIComponent(cursor)}`);
      (got.items ?? []).forEach(walk);
      cursor = got.nextCursor || null;
    }
  }
  return [...said].sort((a, b) => b.length - a.length);
}

// spoken is all that a page says to those who see or hear it.
const spoken = (p) => p.evaluate(() => {
  const out = new Set([document.title, document.querySelector("meta[name=description]").content]);
  for (const n of document.querySelectorAll("[placeholder], [aria-label], [title], [alt]")) for (const a of ["placeholder", "aria-label", "title", "alt"]) if (n.getAttribute(a)) out.add(n.getAttribute(a));
  const walker = document.createTreeWalker(document.documentElement, NodeFilter.SHOW_TEXT, (n) => (n.parentElement.closest("script, style, pre, code, textarea, [lang]:not(html)") ? NodeFilter.FILTER_REJECT : NodeFilter.FILTER_ACCEPT));
  while (walker.nextNode()) out.add(walker.currentNode.data.replace(/\s+/g, " ").trim());
  return [...out].filter((s) => /\p{L}{2}/u.test(s));
});

// Words that German sentences do not have.
const words = /(?<![\p{L}-])(the|is|are|were|and|of|with|for|from|your|you|this|that|there|nothing|something|how|what|which|by|on|off|at|left|add|change|removes?|puts?|takes?|notes|today|tomorrow|yesterday|days|piece|pieces|cloves?|tbsp|tsp|fridge|pantry|freezer|dinner|lunch|breakfast|planned|cooked|Mon|Tue|Wed|Thu|Sun|Oct|Dec|Mar|May)(?![\p{L}-])/iu;

// What is the same in each language: kinds of codes, ids, sums of files, and places on a photo.
const asItIs = /^(ean13|ean8|upca|upce|itf|qr|[0-9a-f-]{36}|[0-9a-f]{64}|\{"x":.*\}|german\.png|product-\d+)$/;

// leftover says what of a page is not German.
function leftover(texts, known, others) {
  const all = known.join("\n");
  return texts.filter((text) => {
    text = text.replace(/ · PantryPal$/, "").replace(/„[^“]*“/g, "");
    if (inGerman.has(text) || asItIs.test(text)) return false;
    if (inEnglish.has(text) && !known.includes(text.toLowerCase())) return true;
    let rest = text.toLowerCase();
    for (const name of known) if (rest.includes(name)) rest = rest.split(name).join(" ");
    const parts = rest.split(/ · |: |, |; /).filter((part) => /\p{L}{2}/u.test(part) && !all.includes(part.trim()));
    if (!parts.length) return false;
    return words.test(parts.join(" ")) || (others.includes(text) && !/^(pantrypal|[\d.,]+ (g|kg|ml|l|kcal))$/.test(parts.join(" ").trim()));
  });
}

// everyPage is each kind of page that there is, with something on it.
async function everyPage(p) {
  const first = async (entity, filter = {}) => (await call("GET", `/api/${entity}?pageSize=1&filter=${encodeURIComponent(JSON.stringify(filter))}`)).items[0].id;
  await open(p, "/photo");
  await ready(p);
  const read = p.waitForNavigation({ waitUntil: "domcontentloaded" });
  await (await p.waitForSelector("#take input[type=file]")).uploadFile(photo);
  await read;
  const pictured = new URL(p.url()).pathname;
  const list = await call("POST", "/api/shopping-list", { name: "Looked at" });
  for (const name of ["Milk", "Soap"]) await call("POST", "/api/shopping-item", { listId: list.id, name });
  await call("POST", "/api/actions/week-plan", {});
  await call("POST", "/api/actions/cooked", { recipe: "Red Lentil Dal", leftovers: 2 });
  await call("POST", "/api/actions/import-recipe", { text: "Peanut Noodles\n\nIngredients\n200 g egg noodles\n2 tbsp peanut butter\n3 cloves garlic\n\nSteps\nCook." });
  const peanuts = await first("recipe", { name: "Peanut Noodles" });
  const lot = await first("pantry-item", { status: "available" });
  await fetch(server.origin + "/api/pantry-item/" + lot, { method: "PATCH", headers: { "Content-Type": "application/merge-patch+json", "If-Match": "*" }, body: JSON.stringify({ place: "freezer", reason: "moved" }) });
  await open(p, "/activity");
  const runs = await p.$$eval("a.line[href^='/activity/']", (all) => all.slice(0, 9).map((a) => a.getAttribute("href")));
  check(runs.length >= 5, "there are runs");
  const asked = (await call("DELETE", "/api/pantry-item/" + lot)).details.planId;
  const day = new Date(Date.now() + 2 * 86400000).toISOString().slice(0, 10);
  return ["/", "/more", "/shelves", "/shelves?q=nonesuch", "/photo", pictured, "/shopping", "/shopping?list=" + list.id, "/week", "/week?from=2026-01-05", "/recipes", "/recipes?f=now&q=onion", "/recipes?q=nonesuch", `/recipes?date=${day}&meal=lunch`, "/recipes/new", "/recipes/shakshuka", "/recipes/shakshuka/edit",
    "/recipes/" + peanuts, "/recipes/shakshuka?servings=3,5&units=us", "/reports", "/reports?food=stardust", "/household", "/rules", "/stores", "/activity", ...runs, "/meals/" + (await first("planned-meal", { status: "cooked" })), "/meals/" + (await first("planned-meal", { status: "planned" })), "/plans/" + asked, "/offline", "/nothing",
    "/?did=planned&run=00000000-0000-4000-8000-000000000000", "/recipes/none", "/week?from=tomorrow", "/recipes/shakshuka?servings=900"];
}

const stories = {
  async "sign in"() {
    const p = await page();
    await p.goto(base + server.pathname + server.search, { waitUntil: "domcontentloaded" });
    same(await speaks(p), "de", "the language of the page");
    await says(p, "Heute Abend", "main");
    await p.close();
  },

  async "each page is German"() {
    const p = await page(), pages = await everyPage(p), known = await data(), wrong = [];
    await p.setBypassCSP(true); // of axe itself alone: it is no part of the page
    const other = new Map();
    for (const path of pages) {
      const r = await fetch(server.origin + path, { headers: { "Accept-Language": "en" } });
      other.set(path, await r.text());
    }
    for (const path of pages) {
      await open(p, path);
      const others = await p.evaluate((text) => {
        const d = new DOMParser().parseFromString(text, "text/html"), out = [d.title];
        const walker = d.createTreeWalker(d.documentElement, NodeFilter.SHOW_TEXT);
        while (walker.nextNode()) out.push(walker.currentNode.data.replace(/\s+/g, " ").trim());
        return out;
      }, other.get(path));
      if ((await speaks(p)) !== "de") wrong.push(`${path}: lang ${await speaks(p)}`);
      await p.$$eval("details", (all) => all.slice(0, 12).forEach((d) => (d.open = true)));
      for (const text of leftover(await spoken(p), known, others)) wrong.push(`${path}: ${text}`);
      const found = await p.evaluate((source) => {
        if (!globalThis.axe) new Function(source)();
        return axe.run(document, { resultTypes: ["violations"] });
      }, axe);
      for (const v of found.violations) wrong.push(`${path}: axe ${v.id} ${v.nodes[0].html.slice(0, 120)}`);
      const [is, has] = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
      if (is > has) wrong.push(`${path} is ${is} wide on a screen of ${has}`);
    }
    same(p.wrong, [], "errors of the pages");
    check(!wrong.length, [...new Set(wrong)].join("\n"));
    await p.close();
    return { looked: pages.length };
  },

  async "scripts speak German, also without a network"() {
    const p = await page();
    await open(p, "/recipes/shakshuka");
    await ready(p);
    await p.click("#cook-start");
    await says(p, "Weiter", "#cook-next");
    await says(p, "Schritt 1 von", "#cook");
    await open(p, "/shopping");
    await ready(p);
    await p.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await p.waitForFunction(async () => (await caches.keys()).some((k) => k.endsWith("-de")), { polling: 100 });
    await p.type("#add-name", "Hafermilch");
    await p.click("#add button.main");
    await says(p, "Hafermilch steht auf der Liste.", "#toast");
    check(/^\d+,\d\d €$/.test(await p.$eval("#cost", (c) => c.textContent)) || await p.$eval("#about", (a) => a.hidden), "the sum has a comma");
    cut(true);
    await p.evaluate(() => dispatchEvent(new Event("offline")));
    await p.type("#add-name", "Brot");
    await p.click("#add button.main");
    await says(p, "1 hinzugefügt, noch nicht gesendet: Brot", "#net");
    await open(p, "/week");
    await says(p, "Kein Netz", "main");
    await open(p, "/shopping");
    same(await speaks(p), "de", "the list that is kept");
    cut(false);
    await p.close();
  },

  async "the choice of a language is kept, and what is kept for a shop follows"() {
    const p = await page();
    await open(p, "/more");
    same(await p.$eval("button[aria-pressed=true][name=language]", (b) => b.value), "", "nothing is chosen");
    await press(p, "button[name=language][value=en]");
    same([await speaks(p), new URL(p.url()).pathname], ["en", "/more"], "the page after the choice");
    await says(p, "Rules for the week", "main");
    same(await p.$eval("button[aria-pressed=true][name=language]", (b) => b.value), "en", "what is chosen");
    await open(p, "/week");
    same(await speaks(p), "en", "another page");
    await p.waitForFunction(async () => {
      await (await navigator.serviceWorker.ready).update();
      return JSON.stringify((await caches.keys()).map((k) => k.slice(-3))) === '["-en"]';
    }, { polling: 300 });
    cut(true);
    await open(p, "/week");
    await says(p, "There is no network", "main");
    await open(p, "/shopping");
    same(await speaks(p), "en", "the list that is kept");
    cut(false);
    await open(p, "/more");
    await press(p, "button[name=language][value='']");
    same(await speaks(p), "de", "as the browser asks");
    await p.close();
  },
};

for (const [story, tell] of Object.entries(stories)) {
  const only = process.env.STORY;
  if (only && story !== "sign in" && !story.includes(only)) continue;
  let more = {}, error = "";
  try {
    more = (await tell()) ?? {};
  } catch (e) {
    error = String(e?.stack ?? e).slice(0, 6000);
    cut(false);
  }
  console.log(JSON.stringify({ story, error, ...more }));
}
await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 3000))]);
process.exit(0); // what follows changes keeps its connection

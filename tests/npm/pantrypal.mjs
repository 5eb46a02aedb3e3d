// A household uses PantryPal's pages, in Chromium. Prints one line of JSON for each story:
// {story, error, ms}.
//
//   node pantrypal.mjs LINK PHONE DESKTOP [FOLDER]
//
// LINK signs in, once. PHONE and DESKTOP are photos, each with one code that nobody knows. With
// FOLDER, the pictures in docs are taken on the way.
import { createRequire } from "node:module";
import { readFileSync } from "node:fs";
import net from "node:net";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [link, phonePhoto, desktopPhoto, folder] = process.argv.slice(2);
const server = new URL(link);
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
const phone = { width: 390, height: 844, isMobile: true, hasTouch: true }, wide = { width: 1280, height: 800 };

// The browser comes by a wire that can be cut, as a phone's can.
const wire = { cut: false, deaf: false, sockets: new Set() };
const proxy = net.createServer((near) => {
  if (wire.cut) return near.destroy();
  const far = net.connect(server.port, server.hostname);
  wire.sockets.add(near);
  near.on("data", (b) => far.write(b));
  far.on("data", (b) => (wire.deaf ? near.destroy() : near.write(b)));
  for (const [one, other] of [[near, far], [far, near]]) {
    one.on("error", () => other.destroy());
    one.on("close", () => (other.destroy(), wire.sockets.delete(near)));
  }
});
await new Promise((done) => proxy.listen(0, "127.0.0.1", done));
const base = `http://127.0.0.1:${proxy.address().port}`, direct = server.origin;
function cut(on) {
  wire.cut = on;
  if (on) for (const s of wire.sockets) s.destroy();
}

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"] });

function check(ok, what) {
  if (!ok) throw new Error(what);
}
function same(is, want, what) {
  check(JSON.stringify(is) === JSON.stringify(want), `${what}: ${JSON.stringify(is)}, want ${JSON.stringify(want)}`);
}

// call is another program on the same machine, such as an agent.
async function call(method, path, body) {
  const r = await fetch(direct + path, { method, headers: { "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json" }, body: body && JSON.stringify(body) });
  return r.status === 204 ? null : r.json();
}
const count = async (entity, filter) => (await call("POST", `/api/${entity}:count`, { filter })).count;

async function page(viewport, context = browser) {
  const p = await context.newPage();
  await p.setViewport(viewport);
  p.wrong = [];
  p.on("pageerror", (e) => p.wrong.push(e.message));
  p.on("console", (m) => m.type() === "error" && !/Failed to load resource|ERR_|net::/.test(m.text()) && p.wrong.push(m.text()));
  p.on("dialog", (d) => (p.wrong.push("a dialog: " + d.message()), d.dismiss()));
  await p.evaluateOnNewDocument(() => {
    globalThis.violations = [];
    addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI));
  });
  p.setDefaultTimeout(30000);
  const wait = p.waitForFunction.bind(p);
  p.waitForFunction = (...what) => { // a failure says which wait it was
    const from = new Error();
    return wait(...what).catch((e) => {
      throw new Error(e.message + from.stack.replace("Error", ""));
    });
  };
  return p;
}
async function close(p) {
  same(p.wrong, [], "errors of the page");
  same(await p.evaluate(() => violations), [], "violations of the policy");
  await p.close();
}
const open = (p, path) => p.goto(base + path, { waitUntil: "domcontentloaded" });
const says = (p, text, selector = "main") => p.waitForFunction((s, t) => document.querySelector(s)?.innerText.includes(t), { polling: 50 }, selector, text);
const quiet = (p, text, selector = "main") => p.waitForFunction((s, t) => document.querySelector(s) && !document.querySelector(s).innerText.includes(t), { polling: 50 }, selector, text);
// press presses what a finger would find, and waits for the page that follows.
async function press(p, text, selector = "button, a.button", stays = false) {
  const found = await p.waitForFunction((s, t) => [...document.querySelectorAll(s)].find((b) => b.innerText.trim().startsWith(t) && b.checkVisibility()), { polling: 50 }, selector, text);
  const at = found.asElement();
  await at.evaluate((e) => e.scrollIntoView({ block: "center" })).catch(() => {}); // from under the bar, if nothing has replaced it
  const again = () => press(p, text, selector, true); // where a change has replaced it meanwhile
  if (stays) return at.click().catch(again);
  const followed = p.waitForNavigation({ waitUntil: "domcontentloaded" });
  // A click may fail though it was made: the page that follows has taken its place.
  await Promise.all([followed, at.click().catch(() => Promise.race([followed, again()]))]);
}
async function picture(p, name) {
  if (!folder) return;
  await p.bringToFront();
  await p.screenshot({ path: join(folder, name + ".png") });
}
// ready waits for the scripts of a page.
const ready = (p) => p.waitForFunction(() => typeof refresh === "function" && document.readyState === "complete", { polling: 50 });
// pictured waits for the pictures that are on the screen.
const pictured = (p) => p.waitForFunction(() => {
  const seen = [...document.querySelectorAll("main img")].filter((i) => i.getBoundingClientRect().top < innerHeight);
  return seen.length > 0 && seen.every((i) => i.complete && i.naturalWidth > 0);
}, { polling: 50 });
async function fits(p) {
  const [is, has] = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(is <= has, `the page is ${is} wide on a screen of ${has}`);
}

// evening is what a household does: from the photo to dinner, the list, the shop, and back.
async function evening(viewport, photo, name) {
  const p = await page(viewport);
  await open(p, "/photo");
  await ready(p);
  const read = p.waitForNavigation({ waitUntil: "domcontentloaded" });
  await (await p.waitForSelector("#take input[type=file]")).uploadFile(photo); // it is read at once
  await read;
  await says(p, "unknown");
  check(/^Groceries, \w{3} \d/.test(await p.title()), "a photo is called by its day: " + (await p.title()));
  await p.waitForFunction(() => document.readyState === "complete" && document.querySelector(".photo img")?.naturalWidth > 0);
  await p.waitForFunction(() => { // the page may be drawn anew meanwhile
    const boxes = [...document.querySelectorAll(".photo rect")].map((r) => r.getBoundingClientRect());
    return boxes.length >= 2 && boxes.every((r) => r.width > 5 && r.right <= innerWidth);
  }, { polling: 50 });
  await fits(p);
  if (name === "phone") await picture(p, "pantrypal-phone-photo"); // a large file in the other size
  await p.type("input[name=food]", "penne");
  await p.type("input[name=packageAmount]", "lots");
  await press(p, "Put it away"); // what is wrong is said where it was typed, and nothing typed is lost
  await says(p, "is not a number", ".codes form [data-fault]");
  same(await p.$$eval("input[name=food], input[name=packageAmount]", (all) => all.map((i) => i.value)), ["penne", "lots"], "the form");
  await p.$eval("input[name=packageAmount]", (i) => (i.value = "500"));
  await press(p, "Put it away");
  await says(p, "Learned", "#toast");
  check(!(await p.$(".codes .open")), "no code is unknown");
  await open(p, "/");
  await fits(p);
  if (name === "phone") await picture(p, "pantrypal-phone-home");
  const fold = await p.$eval("#soon", (h) => h.getBoundingClientRect().bottom + 90); // with the first of it
  check(fold < viewport.height - 60, `what to use soon begins ${fold} pixels down`);
  if (await p.$(".hero form[action='/meals']")) {
    await says(p, "Everything is in the house", ".hero"); // the green button is for what can be cooked at once
    await press(p, "Plan it", ".hero button.main");
    await p.waitForSelector(".hero a.button");
  }
  await press(p, "Cook", ".hero a.button");
  await says(p, "Per portion");
  await press(p, "Cook mode", "button", true);
  await says(p, "Step 1 of", "#cook .step:not([hidden])");
  if (name === "phone") await picture(p, "pantrypal-phone-cook");
  await press(p, "Leave", "button", true);
  await fits(p);
  await open(p, "/recipes");
  await pictured(p);
  await fits(p);
  await picture(p, `pantrypal-${name}-recipes`);

  await open(p, "/week");
  await press(p, "Plan the free days");
  await says(p, "Planned", "#toast");
  await fits(p);
  if (name === "desktop") await picture(p, "pantrypal-desktop-week");
  await press(p, "Make the shopping list");
  if (p.url().includes("/plans/")) await press(p, "Approve");
  await p.waitForSelector(".check");
  await fits(p);
  if (name === "phone") await picture(p, "pantrypal-phone-list");
  const left = () => p.$eval("#left", (e) => Number(e.innerText));
  const before = await left();
  const first = await p.$eval(".checks li", (li) => ({ id: li.dataset.item, name: li.querySelector(".name").innerText }));
  const stock = await count("pantry-item", { status: "available" });
  await p.waitForFunction((id) => document.querySelector(`[data-item="${id}"] button`)?.getBoundingClientRect().height >= 44, { polling: 50 }, first.id); // for a thumb
  await p.$eval(`[data-item="${first.id}"] button`, (b) => b.click()); // before its script is there it is a plain form
  await says(p, "in the house", "#toast");
  check(await p.$(`.checks .ticked[data-item="${first.id}"]`), "the row is ticked all the time");
  await p.waitForFunction((id) => document.querySelector(".checks li").dataset.item === id && document.querySelector(`.checks .ticked[data-item="${id}"] form[action="/shopping/back"]`), { polling: 50 }, first.id); // it stays under the thumb
  same(await left(), before - 1, "left to buy");
  await picture(p, `pantrypal-${name}-bought`);
  same(await count("pantry-item", { status: "available" }), stock + 1, "lots");
  await press(p, "Undo", "#toast button", true); // one's own tap is taken back by another one
  await says(p, "back on the list", "#toast");
  await p.waitForSelector(`.checks [data-item="${first.id}"]:not(.ticked)`);
  same(await left(), before, "left to buy after the undo");
  same(await count("pantry-item", { status: "available" }), stock, "lots after the undo");

  await open(p, "/activity");
  await fits(p);
  await p.waitForFunction(() => document.querySelector("main")?.innerText.includes("Put groceries away"), { polling: 50 });
  const run = await p.evaluate(() => [...document.querySelectorAll("a.line")].find((a) => a.innerText.includes("Plan the week")).getAttribute("href"));
  await open(p, run);
  await says(p, "Plans "); // what it did
  await says(p, " off "); // what an undo would do
  check(!/\d fields|planned meal|pantry item/.test(await p.$eval("main", (m) => m.innerText)), "in kitchen words");
  check(!/[0-9a-f]{8}-[0-9a-f]{4}-/.test(await p.$eval("main", (m) => m.innerText)), "rows have names");
  const meals = await count("planned-meal", { status: "planned" });
  await press(p, "Undo all of it");
  await says(p, "somebody has to agree");
  check((await count("planned-meal", { status: "planned" })) === meals, "nothing is undone before somebody has agreed");
  await picture(p, `pantrypal-${name}-undo`);
  await press(p, "Approve");
  await says(p, "Approved", "#toast");
  check((await count("planned-meal", { status: "planned" })) < meals, "the week is not planned any more");
  await close(p);
}

const stories = {
  async "sign in"() {
    const p = await page(phone);
    await p.goto(base + server.pathname + server.search, { waitUntil: "domcontentloaded" });
    same(new URL(p.url()).pathname, "/", "where the link leads");
    await says(p, "Tonight");
    same((await p.cookies()).map((c) => [c.httpOnly, c.sameSite]), [[true, "Strict"]], "cookies");
    await close(p);
  },

  "from the photo to the undo, on a phone": () => evening(phone, phonePhoto, "phone"),
  "from the photo to the undo, on a desktop": () => evening(wide, desktopPhoto, "desktop"),

  async "what an agent does appears"() {
    const p = await page(phone);
    await open(p, "/shelves?q=halloumi");
    await p.waitForFunction(() => performance.getEntriesByType("resource").some((e) => e.name.includes("/api/events")) || true);
    const began = Date.now();
    await call("POST", "/api/pantry-item", { name: "Halloumi from an agent", amount: 200, unit: "g", place: "fridge" });
    await says(p, "Halloumi");
    const took = Date.now() - began;

    await open(p, "/recipes/shakshuka");
    await p.waitForFunction(() => typeof refresh === "function" && document.readyState === "complete", { polling: 50 });
    await p.evaluate(() => ((shown = ""), refresh())); // all of it is drawn anew
    await press(p, "Cook mode", "button", true);
    await says(p, "Step 1 of", "#cook .step:not([hidden])");

    const list = await call("POST", "/api/shopping-list", { name: "Under a finger" });
    const item = await call("POST", "/api/shopping-item", { listId: list.id, name: "Zwieback" });
    await open(p, "/shopping");
    await p.waitForFunction(() => typeof send === "function" && document.readyState === "complete", { polling: 50 });
    const at = await (await p.$(`[data-item="${item.id}"] button`)).boundingBox();
    await p.mouse.move(at.x + 30, at.y + at.height / 2);
    await p.mouse.down();
    await call("POST", "/api/shopping-item", { listId: list.id, name: "Aniseed" }); // would move it away
    await new Promise((done) => setTimeout(done, 400));
    await p.mouse.up();
    await says(p, "Zwieback: bought", "#toast");
    await says(p, "Aniseed");
    // A page in the back holds no connection, of which a browser has six to a site.
    const hide = (is) => p.evaluate((is) => {
      Object.defineProperty(document, "hidden", { configurable: true, get: () => is });
      document.dispatchEvent(new Event("visibilitychange"));
      return changes === null;
    }, is);
    same([await hide(true), await hide(false)], [true, false], "connections that are let go");
    // What went wrong is said until it is read, also where the page follows changes.
    await p.$eval("#add-name", (i) => (i.value = "Soap"));
    await p.$eval("#add input[name=amount]", (i) => (i.value = "abc"));
    await press(p, "Add", "#add button", true);
    await says(p, "is not a number", "#add [data-fault]");
    await p.evaluate(() => ((shown = ""), refresh()));
    await says(p, "is not a number", "#add [data-fault]");
    same(await p.$eval("#add-name", (i) => i.value), "Soap", "what was typed");
    await call("DELETE", "/api/shopping-list/" + list.id);
    await close(p);
    return { took };
  },

  async "names are text"() {
    const bad = `<img src=x onerror="alert(1)">'"{{.}}</script><script>alert(2)</script>`;
    const lot = await call("POST", "/api/pantry-item", { name: bad, amount: 1, place: "fridge", bestBefore: new Date().toISOString().slice(0, 10) });
    check(lot.id, "the lot is stored: " + JSON.stringify(lot));
    const list = await call("POST", "/api/shopping-list", { name: bad });
    await call("POST", "/api/shopping-item", { listId: list.id, name: bad, note: bad });
    const p = await page(wide);
    for (const path of ["/", "/shelves", "/shopping", "/activity"]) {
      await open(p, path);
      if (path !== "/activity") await p.waitForFunction((t) => document.querySelector("main")?.textContent.includes(t), { polling: 50 }, bad);
      check(!(await p.$("main img[src='x'], main script")), "nothing of it is an element of " + path);
    }
    await open(p, "/shopping");
    await p.$eval(".checks button", (b) => b.click());
    await says(p, "in the house", "#toast");
    check(!(await p.$("#toast img")), "nothing of it is an element of the message");
    await call("DELETE", "/api/shopping-list/" + list.id);
    await close(p);
  },

  async "two people check off the same thing at once"() {
    const list = await call("POST", "/api/shopping-list", { name: "Both" });
    const item = await call("POST", "/api/shopping-item", { listId: list.id, name: "Rice", amount: 1, unit: "kg" });
    await call("POST", "/api/shopping-item", { listId: list.id, name: "Soap" });
    const other = await browser.createBrowserContext(); // another person's
    const both = [await page(phone), await page(wide, other)];
    for (const p of both) await open(p, "/shopping");
    for (const p of both) await p.waitForFunction(() => typeof send === "function" && document.readyState === "complete");
    await Promise.all(both.map((p) => p.$eval(`[data-item="${item.id}"] button`, (b) => b.click())));
    const told = await Promise.all(both.map(async (p) => {
      await p.waitForSelector("#toast .toast");
      return p.$eval("#toast", (t) => (t.innerText.includes("somebody had it already") ? "already" : t.innerText.includes("in the house") ? "bought" : t.innerText));
    }));
    same(told.sort(), ["already", "bought"], "what each is told");
    same(await count("pantry-item", { name: "Rice", source: "shopping", addedAt: { $gte: new Date(Date.now() - 60000).toISOString() } }), 1, "lots");
    for (const p of both) await close(p);
    await other.close();
  },

  async "what was ticked by mistake is put back"() {
    const list = await call("POST", "/api/shopping-list", { name: "Mistake" });
    const item = await call("POST", "/api/shopping-item", { listId: list.id, name: "Couscous", amount: 500, unit: "g" });
    await call("POST", "/api/shopping-item", { listId: list.id, name: "Soap" });
    const lots = () => count("pantry-item", { name: "Couscous", source: "shopping", status: "available" });
    const before = await lots();
    const p = await page(phone);
    await open(p, "/shopping");
    await p.$eval(`[data-item="${item.id}"] button`, (b) => b.click());
    await says(p, "in the house", "#toast");
    same(await lots(), before + 1, "lots");
    await open(p, "/shopping"); // the message with its undo is gone
    await press(p, "1 bought", "summary", true);
    await p.waitForFunction(() => document.querySelector("#bought button").getBoundingClientRect().height >= 44, { polling: 50 });
    await fits(p);
    await press(p, "Put back");
    await says(p, "Back on the list", "#toast");
    await p.waitForSelector(`.checks [data-item="${item.id}"]`);
    same(await lots(), before, "lots after it was put back");
    await call("DELETE", "/api/shopping-list/" + list.id);
    await close(p);
  },

  async "a phone that comes back after an hour"() {
    const near = await call("POST", "/api/shopping-list", { name: "Around the corner" });
    await call("POST", "/api/shopping-item", { listId: near.id, name: "Basil" });
    const list = await call("POST", "/api/shopping-list", { name: "Far away" });
    const items = {};
    for (const name of ["Apples", "Bananas", "Carrots", "Dates"]) items[name] = (await call("POST", "/api/shopping-item", { listId: list.id, name, amount: 2, estimatedCost: 1.25 })).id;
    const p = await page(phone);
    await open(p, "/shopping");
    await p.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    await p.waitForFunction(() => navigator.serviceWorker.controller, { polling: 50 });
    await open(p, "/shopping?list=" + near.id); // as they are now, kept
    await says(p, "Basil");
    await open(p, "/shopping");
    await says(p, "Dates");
    cut(true);
    await press(p, "Around the corner", ".chips a");
    await says(p, "Basil");
    await open(p, "/shopping");
    await says(p, "Apples");
    const tick = (name) => p.$eval(`[data-item="${items[name]}"] button`, (b) => b.click());
    await tick("Apples");
    await tick("Bananas");
    await tick("Carrots");
    await says(p, "3 ticked, not sent yet");
    await p.waitForFunction(() => document.querySelectorAll(".ticked").length === 3, { polling: 50 });
    same(await p.evaluate(() => [document.getElementById("left").innerText, document.getElementById("cost").innerText]), ["1", "€1.25"], "what is left, without a network");
    await tick("Carrots"); // by mistake
    await says(p, "2 ticked, not sent yet");
    await tick("Carrots");
    for (const name of ["Lamp oil", "Matches"]) {
      await p.type("#add-name", name);
      await press(p, "Add", "#add button", true);
    }
    await says(p, "2 added, not sent yet: Lamp oil, Matches");
    await p.evaluate(() => [...document.querySelectorAll("li.waiting")].find((li) => li.innerText.includes("Matches")).querySelector("button").click()); // and found at once
    await open(p, "/reports");
    await says(p, "There is no network");
    await open(p, "/shopping");
    await says(p, "3 ticked, not sent yet");
    // Meanwhile somebody else has bought one, and another was taken off the list.
    await call("POST", "/api/actions/check-off", { listId: list.id, items: [{ item: items.Apples }] });
    const gone = await call("DELETE", "/api/shopping-item/" + items.Bananas);
    same(gone.deleted, 1, "a line that is taken off the list asks nobody: " + JSON.stringify(gone));
    cut(false);
    wire.deaf = true; // what is sent now arrives, but nobody hears the answer
    await p.evaluate(() => send());
    await new Promise((done) => setTimeout(done, 300));
    wire.deaf = false;
    await open(p, "/shopping");
    await p.waitForFunction(() => !JSON.parse(localStorage.getItem("pantrypal.ticks") ?? "[]").length, { polling: 50 });
    const lots = (name) => count("pantry-item", { name, addedAt: { $gte: new Date(Date.now() - 60000).toISOString() }, source: "shopping" });
    // What was bought is in the house, also what somebody had taken off the list.
    same([await lots("Apples"), await lots("Bananas"), await lots("Carrots"), await lots("Dates"), await lots("Matches"), await lots("Lamp oil")], [1, 1, 1, 0, 1, 0], "lots");
    await open(p, "/shopping");
    await says(p, "2", "#left");
    await says(p, "Lamp oil", "#list");
    await close(p);
  },

  async "approve what an agent wants to delete"() {
    const lot = await call("POST", "/api/pantry-item", { name: "Old jar", amount: 1 });
    const refused = await call("DELETE", "/api/pantry-item/" + lot.id);
    same(refused.code, "approval_required", "the agent's call");
    const p = await page(phone);
    await open(p, "/activity");
    await says(p, "Waits for you");
    await Promise.all([p.waitForNavigation({ waitUntil: "domcontentloaded" }), p.$eval("a.line[href*='/plans/']:last-of-type", () => {}).then(() => p.evaluate((id) => document.querySelector(`a[href="/plans/${id}"]`).click(), refused.details.planId))]);
    await says(p, "Old jar");
    await fits(p);
    await press(p, "Approve");
    await says(p, "Approved", "#toast");
    same((await call("GET", "/api/pantry-item/" + lot.id)).code, "not_found", "the lot");
    await press(p, "Undo", "#toast button");
    await says(p, "Undone", "#toast");
    same((await call("GET", "/api/pantry-item/" + lot.id)).name, "Old jar", "the lot after the undo");
    await close(p);
  },

  async "without JavaScript"() {
    const p = await page(phone);
    await p.setJavaScriptEnabled(false);
    const at = async (selector) => Promise.all([p.waitForNavigation({ waitUntil: "domcontentloaded" }), p.click(selector)]);
    const text = (selector) => p.$eval(selector, (e) => e.textContent);
    await open(p, "/shopping");
    await p.type("#add-name", "Candles");
    await at("form[action='/shopping'] button");
    check((await text("main")).includes("Candles"), "it is on the list");
    await at(".checks button");
    check((await text("#toast")).includes("Bought, and in the house"), "it is checked off");
    await at("#toast button");
    check((await text("#toast")).includes("Undone"), "it is undone");
    await open(p, "/recipes/shakshuka?servings=3");
    check((await text(".ingredients")).includes("1½"), "amounts are scaled");
    await p.close();
  },

  async "a meal moves to another day"() {
    const p = await page(wide);
    await open(p, "/week");
    await press(p, "Plan the free days");
    const [from, to, id] = await p.evaluate(() => {
      const days = [...document.querySelectorAll(".day:not(.past)")], at = days.find((d) => d.querySelector("[draggable]"));
      const other = days.find((d) => d !== at);
      return [at.dataset.date, other?.dataset.date, at.querySelector("[data-meal]").dataset.meal];
    });
    if (to) { // on a Sunday there is no other day in the week
      await Promise.all([p.waitForNavigation({ waitUntil: "domcontentloaded" }), p.evaluate((id, to) => {
        const moved = new DataTransfer(), meal = document.querySelector(`[data-meal="${id}"]`), day = document.querySelector(`[data-date="${to}"]`);
        for (const [type, at] of [["dragstart", meal], ["dragover", day], ["drop", day]]) at.dispatchEvent(new DragEvent(type, { bubbles: true, cancelable: true, dataTransfer: moved }));
      }, id, to)]);
      if (p.url().includes("/plans/")) await press(p, "Approve");
      same((await call("GET", "/api/planned-meal/" + id)).date, to, `the day, from ${from}`);
    }
    await close(p);
  },

  async "the week begins today, and a day that is chosen stays chosen"() {
    const p = await page(phone);
    await open(p, "/week?from=" + new Date(Date.now() + 20 * 86400000).toISOString().slice(0, 10));
    check(!(await p.$(".day.today")), "another week");
    await open(p, "/week");
    check(await p.$(".day:first-child.today"), "the first day is today");
    await open(p, "/week?from=" + new Date(Date.now() + 30 * 86400000).toISOString().slice(0, 10));
    const day = await p.$eval(".day:nth-child(3)", (d) => d.dataset.date);
    await press(p, "Choose something", ".day:nth-child(3) a.free");
    await press(p, "Vegan", ".chips a");
    await says(p, "A dish for");
    const dish = await p.$eval(".grid .name", (n) => n.innerText);
    await press(p, "Plan it", ".grid button");
    same(await count("planned-meal", { date: day, status: "planned" }), 1, "meals of " + day);
    await open(p, "/week?from=" + day);
    await says(p, dish, ".day:first-child");
    await close(p);
  },

  async "a dish is found by what is in it"() {
    const p = await page(phone);
    await open(p, "/recipes");
    await p.type("#q", "aubergine");
    await press(p, "Find");
    const names = () => p.$$eval(".grid .name", (all) => all.map((n) => n.innerText));
    check((await names()).includes("Ratatouille"), "by an ingredient: " + (await names()));
    await pictured(p);
    await press(p, "Vegan", ".chips a");
    check((await names()).includes("Ratatouille") && !(await names()).includes("Moussaka"), "and a filter: " + (await names()));
    check(p.url().includes("q=aubergine"), "which keeps what was looked for");
    await open(p, "/recipes?minutes=30");
    const minutes = await p.$$eval(".grid .dish", (all) => all.map((d) => parseInt(d.querySelector(".quiet").innerText, 10)));
    check(minutes.length > 10 && Math.max(...minutes) <= 30, "minutes: " + minutes);
    await open(p, "/recipes?f=now");
    check((await p.$$(".grid .dish")).length < 30, "what can be cooked from what is here");
    await p.waitForFunction(() => [...document.querySelectorAll(".grid .dish")].every((d) => d.querySelector(".good, .lacks")), { polling: 50 });
    await fits(p);
    await close(p);
  },

  async "a recipe of one's own"() {
    const p = await page(phone);
    await open(p, "/recipes");
    await press(p, "Add a recipe", "main a");
    await p.type("textarea", "Grandmother's beans\n\nSteps\nCook.");
    await p.type("input[name=source]", "Grandmother");
    await press(p, "Add it");
    await says(p, "no ingredients", "form [data-fault]");
    same(await p.$eval("input[name=source]", (i) => i.value), "Grandmother", "what was typed");
    await p.$eval("textarea", (t) => (t.value = "Grandmother's beans\n\nIngredients\n2 cans kidney beans\n1 onion, chopped\n\nSteps\nFry the onion for ten minutes, add the beans."));
    await press(p, "Add it");
    await says(p, "kidney beans");
    await pictured(p);
    await press(p, "☆ Favourite");
    await open(p, "/recipes?f=favourite");
    await says(p, "Grandmother's beans");
    await press(p, "Grandmother's beans", ".grid a");
    await press(p, "Change it", "a.button");
    await p.$eval("[name=ingredients]", (t) => (t.value = t.value.replace("1 onion", "2 leeks")));
    await p.$eval("[name=cookMinutes]", (i) => (i.value = "15"));
    await p.click("input[value=vegan]");
    await fits(p);
    await press(p, "Save");
    await says(p, "Changed.", "#toast");
    await says(p, "leeks");
    await says(p, "15 min · Easy · vegan, vegetarian, pescatarian");
    await Promise.all([p.waitForNavigation({ waitUntil: "domcontentloaded" }), p.click("[aria-label='4 of 5']")]);
    await says(p, "4 of 5");
    await fits(p);
    await close(p);
  },

  async "cook mode goes from step to step, to what was taken"() {
    const p = await page(phone);
    await open(p, "/recipes/chickpea-and-spinach-curry?servings=2");
    await p.evaluate(() => { globalThis.locks = 0; navigator.wakeLock.request = async () => (locks++, { release: async () => locks-- }); });
    await press(p, "Cook mode", "button", true);
    await says(p, "Step 1 of 3", "#cook .step:not([hidden])");
    await says(p, "1 tbsp olive oil".slice(7), "#cook .step:not([hidden]) .needs");
    same(await p.evaluate(() => locks), 1, "locks of the screen");
    await press(p, "Next", "#cook button", true);
    await says(p, "Step 2 of 3", "#cook .step:not([hidden])");
    same(await p.$$eval("#cook .step:not([hidden]) .needs li", (all) => all.some((li) => /200 g|1 can|tomatoes/.test(li.innerText))), true, "what the step needs");
    await p.$eval("#cook .step:not([hidden]) .timer", (b) => (b.dataset.seconds = "1"));
    await press(p, "Timer: a quarter of an hour", "#cook button", true);
    await says(p, "time is up", "#timers");
    await press(p, "Stop", "#timers button", true);
    await p.keyboard.press("ArrowRight");
    await says(p, "Step 3 of 3", "#cook .step:not([hidden])");
    check(await p.$eval("#cook", (d) => d.scrollWidth <= innerWidth && [...d.querySelectorAll("button")].every((b) => b.getBoundingClientRect().right <= innerWidth)), "it fits the screen");
    await press(p, "Done", "#cook button", true);
    await says(p, "Enjoy your meal", "#cook .step:not([hidden])");
    const stock = async () => (await call("GET", "/api/pantry-item?filter=" + encodeURIComponent(JSON.stringify({ foodId: "rice", status: "available" })))).items.reduce((s, l) => s + l.amount, 0);
    const before = await stock();
    await press(p, "Cooked", "#cook .step.last button");
    await says(p, "What was taken");
    await press(p, "4 ★", ".buttons button");
    same((await call("GET", "/api/recipe/chickpea-and-spinach-curry")).rating, 4, "the rating");
    await says(p, "Rice");
    check((await stock()) < before, "rice is taken");
    await fits(p);
    await close(p);
  },

  async "a line of the list is changed and taken off"() {
    const list = await call("POST", "/api/shopping-list", { name: "Lines" });
    const [oats, soap] = [await call("POST", "/api/shopping-item", { listId: list.id, name: "Oats", amount: 1, unit: "kg" }), await call("POST", "/api/shopping-item", { listId: list.id, name: "Soap" })];
    const p = await page(phone);
    await open(p, "/shopping?list=" + list.id);
    const edit = async (id) => {
      await p.$eval(`[data-item="${id}"] .edit`, (d) => (d.open = true));
      return `[data-item="${id}"] .edit`;
    };
    const at = await edit(oats.id);
    await p.$eval(at + " input[name=amount]", (i) => (i.value = "few"));
    await p.$eval(at + " input[name=note]", (i) => (i.value = "the coarse ones"));
    await press(p, "Save", at + " button");
    await says(p, "is not a number", at + " [data-fault]");
    same(await p.$eval(at + " input[name=note]", (i) => i.value), "the coarse ones", "what was typed");
    await p.$eval(at + " input[name=amount]", (i) => (i.value = "2"));
    await p.$eval(at + " input[name=cost]", (i) => (i.value = "3,80"));
    await fits(p);
    await press(p, "Save", at + " button");
    await says(p, "the coarse ones");
    const now = await call("GET", "/api/shopping-item/" + oats.id);
    same([now.amount, now.unit, now.estimatedCost, now.note], [2, "kg", 3.8, "the coarse ones"], "the line");
    await press(p, "Take it off the list", (await edit(soap.id)) + " button");
    await says(p, "off the list", "#toast");
    same((await call("GET", "/api/shopping-item/" + soap.id)).code, "not_found", "the other line");
    await call("DELETE", "/api/shopping-list/" + list.id);
    await close(p);
  },

  async "one's own tick is taken back without signing in"() {
    const list = await call("POST", "/api/shopping-list", { name: "Nobody" });
    const item = await call("POST", "/api/shopping-item", { listId: list.id, name: "Yeast" });
    await call("POST", "/api/shopping-item", { listId: list.id, name: "Soap" });
    const child = await browser.createBrowserContext();
    const p = await page(phone, child);
    await open(p, "/shopping?list=" + list.id);
    await ready(p);
    await p.$eval(`[data-item="${item.id}"] button`, (b) => b.click());
    await says(p, "bought, and in the house", "#toast");
    await press(p, "Undo", "#toast button", true);
    await says(p, "back on the list", "#toast");
    same((await call("GET", "/api/shopping-item/" + item.id)).bought, false, "bought");
    await call("DELETE", "/api/shopping-list/" + list.id);
    await close(p);
    await child.close();
  },

  async "who eats here"() {
    const p = await page(phone);
    await open(p, "/more");
    await press(p, "Maple Street", ".menu a");
    await press(p, "Add somebody", "summary", true);
    const at = "#member-new";
    await p.type(at + " input[name=name]", "Mika");
    await p.$eval(at + " input[name=portion]", (i) => (i.value = "0.5"));
    await p.type(at + " input[name=allergies]", "moonlight");
    await press(p, "Add", at + " button");
    await says(p, "moonlight", at + " [data-fault]");
    same(await p.$eval(at + " input[name=name]", (i) => i.value), "Mika", "what was typed");
    await p.$eval(at + " input[name=allergies]", (i) => (i.value = "eggs"));
    await press(p, "Add", at + " button");
    await says(p, "Allergic to eggs");
    const members = async () => (await call("GET", "/api/household/household")).members.map((m) => m.name);
    same(await members(), ["Alex", "Robin", "Mika"], "members");
    await p.evaluate(() => [...document.querySelectorAll("details")].find((d) => d.innerText.includes("Mika")).setAttribute("open", ""));
    await press(p, "Does not eat here any more", "form:has(input[name=was][value=Mika]) button");
    same(await members(), ["Alex", "Robin"], "members");
    await open(p, "/rules");
    await press(p, "Add a rule", "summary", true);
    await p.type("#rule-new input[name=what]", "vegetarian");
    await p.click("#rule-new input[value=monday]");
    await press(p, "Add", "#rule-new button");
    await says(p, "Vegetarian on Monday");
    await press(p, "Let it rest", ".list li:last-child button"); // the last one by its name
    await says(p, "rests");
    await close(p);
  },

  async "charts can be read on a phone"() {
    const p = await page(phone);
    await open(p, "/reports");
    const small = await p.$$eval("svg.chart text", (all) => all.map((t) => [t.textContent, (parseFloat(getComputedStyle(t).fontSize) * t.ownerSVGElement.getBoundingClientRect().width) / t.ownerSVGElement.viewBox.baseVal.width]).filter(([, size]) => size < 12));
    same(small, [], "texts under 12 pixels");
    check((await p.$$eval("svg.chart .tick", (all) => all.map((t) => t.textContent))).some((t) => /^€\d/.test(t)), "axes have the currency");
    await close(p);
  },

  async "it installs as an app"() {
    const p = await page(phone);
    await open(p, "/");
    await p.evaluate(() => navigator.serviceWorker.ready.then(() => true));
    const dev = await p.createCDPSession();
    same((await dev.send("Page.getInstallabilityErrors")).installabilityErrors.filter((e) => e.errorId !== "in-incognito"), [], "what keeps it from being installed");
    const manifest = await dev.send("Page.getAppManifest");
    same(manifest.errors, [], "errors of the manifest");
    const icons = JSON.parse(manifest.data).icons;
    const sizes = await p.evaluate((icons) => Promise.all(icons.map((i) => new Promise((done) => {
      const image = new Image();
      image.onload = () => done(i.sizes === "any" || i.sizes === `${image.naturalWidth}x${image.naturalHeight}`);
      image.onerror = () => done(false);
      image.src = i.src;
    }))), icons);
    same(sizes, icons.map(() => true), "icons have their sizes");
    await close(p);
  },

  "axe finds nothing in the light, on a phone": () => looked("light", phone),
  "axe finds nothing in the dark, on a phone": () => looked("dark", phone),
  "axe finds nothing on a desktop": () => looked("light", wide),
};

// looked lets axe look at each page.
async function looked(mode, viewport) {
  const p = await page(viewport);
  await p.setBypassCSP(true); // of axe itself alone: it is no part of the page
  await p.emulateMediaFeatures([{ name: "prefers-color-scheme", value: mode }]);
  const wrong = [], pages = await everyPage(p);
  for (const path of pages) {
    await open(p, path);
    await p.$$eval("details", (all) => all.slice(0, 12).forEach((d) => (d.open = true)));
    if (path === "/recipes/shakshuka" && mode === "dark") await press(p, "Cook mode", "button", true);
    const found = await p.evaluate((source, only) => {
      if (!globalThis.axe) new Function(source)();
      return axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: only }) });
    }, axe, mode === "dark" ? ["color-contrast"] : null);
    await fits(p);
    for (const v of found.violations) wrong.push(`${path}: ${v.id} ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 120) + " " + (n.any[0]?.message ?? "")).join(" | ")}`);
  }
  same(wrong, [], "violations");
  await p.close();
  return { looked: pages.length };
}

// everyPage is each kind of page that there is, with something on it.
async function everyPage(p) {
  const first = async (entity, filter = {}) => (await call("GET", `/api/${entity}?pageSize=1&filter=${encodeURIComponent(JSON.stringify(filter))}`)).items[0].id;
  await open(p, "/activity");
  const one = await p.$eval("a.line[href^='/activity/']", (a) => a.getAttribute("href"));
  const list = await call("POST", "/api/shopping-list", { name: "Looked at" });
  for (const name of ["Milk", "Soap"]) await call("POST", "/api/shopping-item", { listId: list.id, name });
  const asked = (await call("DELETE", "/api/pantry-item/" + (await first("pantry-item")))).details.planId;
  return ["/", "/more", "/shelves?place=fridge", "/photo", "/photo/" + (await first("pantry-photo")), "/shopping", "/week", "/recipes", "/recipes?f=now&q=onion", "/recipes/new", "/recipes/shakshuka", "/recipes/shakshuka/edit", "/reports",
    "/household", "/rules", "/stores", "/activity", one, "/meals/" + (await first("planned-meal", { status: "cooked" })), "/plans/" + asked, "/offline", "/nothing"];
}

const only = process.env.STORY;
for (const [story, tell] of Object.entries(stories)) {
  if (only && story !== "sign in" && !story.includes(only)) continue;
  const began = Date.now();
  let more = {}, error = "";
  try {
    more = (await Promise.race([tell(), new Promise((_, late) => setTimeout(late, story.startsWith("axe") ? 100000 : 40000, new Error("the story takes too long")))])) ?? {};
  } catch (e) {
    error = String(e?.stack ?? e).split("\n").slice(0, 6).join("\n");
    cut(false);
    wire.deaf = false;
    const left = (await browser.pages()).slice(1);
    if (left.length) error += "\n" + (await Promise.race([left.at(-1).evaluate(() => location.href + " " + document.body.innerText.slice(0, 400)), new Promise((late) => setTimeout(late, 2000, "(the page hangs)"))]).catch(String));
    for (const p of left) await Promise.race([p.close(), new Promise((done) => setTimeout(done, 1000))]);
  }
  console.log(JSON.stringify({ story, error, ms: Date.now() - began, ...more }));
}
await Promise.race([browser.close(), new Promise((done) => setTimeout(done, 3000))]);
process.exit(0); // what follows changes keeps its connection

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
async function fits(p) {
  const [is, has] = await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
  check(is <= has, `the page is ${is} wide on a screen of ${has}`);
}

// evening is what a household does: from the photo to dinner, the list, the shop, and back.
async function evening(viewport, photo, name) {
  const p = await page(viewport);
  await open(p, "/photo");
  await (await p.waitForSelector("input[type=file]")).uploadFile(photo);
  await press(p, "Read it");
  await says(p, "unknown");
  await p.waitForFunction(() => document.readyState === "complete" && document.querySelector(".photo img")?.naturalWidth > 0);
  await p.waitForFunction(() => { // the page may be drawn anew meanwhile
    const boxes = [...document.querySelectorAll(".photo rect")].map((r) => r.getBoundingClientRect());
    return boxes.length >= 2 && boxes.every((r) => r.width > 5 && r.right <= innerWidth);
  }, { polling: 50 });
  await fits(p);
  if (name === "phone") await picture(p, "pantrypal-phone-photo"); // a large file in the other size
  await p.type("input[name=food]", "penne");
  await p.type("input[name=packageAmount]", "500");
  await press(p, "Put it away");
  await says(p, "Learned", "#toast");
  check(!(await p.$(".codes .open")), "no code is unknown");
  await open(p, "/");
  await fits(p);
  if (name === "phone") await picture(p, "pantrypal-phone-home");
  const planned = await p.$(".hero");
  if (!planned) {
    await press(p, "Plan it");
    await p.waitForSelector(".hero");
  }
  await press(p, "Cook", ".hero a.button");
  await says(p, "Per portion");
  await press(p, "Cook mode", "button", true);
  await p.waitForSelector(".cooking .steps li.at");
  await press(p, "Leave", "button", true);
  await fits(p);

  await open(p, "/week");
  await press(p, "Plan the free days");
  await says(p, "Planned", "#toast");
  await fits(p);
  if (name === "desktop") await picture(p, "pantrypal-desktop-week");
  await press(p, "Make the shopping list");
  if (p.url().includes("/plans/")) await press(p, "Approve");
  await p.waitForSelector(".check");
  await fits(p);
  await picture(p, `pantrypal-${name}-list`);
  const left = () => p.$eval("#left", (e) => Number(e.innerText));
  const before = await left();
  const first = await p.$eval(".checks li", (li) => ({ id: li.dataset.item, name: li.querySelector(".name").innerText }));
  const stock = await count("pantry-item", { status: "available" });
  await p.waitForFunction((id) => document.querySelector(`[data-item="${id}"] button`)?.getBoundingClientRect().height >= 44, { polling: 50 }, first.id); // for a thumb
  await p.$eval(`[data-item="${first.id}"] button`, (b) => b.click()); // before its script is there it is a plain form
  await says(p, "in the house", "#toast");
  await p.waitForFunction((id) => !document.querySelector(`.checks [data-item="${id}"]`), { polling: 50 }, first.id);
  same(await left(), before - 1, "left to buy");
  await picture(p, `pantrypal-${name}-bought`);
  same(await count("pantry-item", { status: "available" }), stock + 1, "lots");
  await press(p, "Undo", "#toast button"); // one's own tap is taken back by another one
  await says(p, "Undone", "#toast");
  await p.waitForSelector(`.checks [data-item="${first.id}"]`);
  same(await count("pantry-item", { status: "available" }), stock, "lots after the undo");

  await open(p, "/activity");
  await fits(p);
  await p.waitForFunction(() => document.querySelector("main")?.innerText.includes("Put groceries away"), { polling: 50 });
  const run = await p.evaluate(() => [...document.querySelectorAll("a.line")].find((a) => a.innerText.includes("Plan the week")).getAttribute("href"));
  await open(p, run);
  await says(p, "planned meal");
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
    await p.waitForSelector(".cooking .steps li.at");

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
    await p.$eval("input[name=name]", (i) => (i.value = "Soap"));
    await p.$eval("input[name=amount]", (i) => (i.value = "abc"));
    await press(p, "Put it on the list");
    await p.waitForFunction(() => typeof refresh === "function" && document.readyState === "complete", { polling: 50 });
    await p.evaluate(() => ((shown = ""), refresh()));
    await says(p, "That did not work");
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
      check(!(await p.$("main img, main script")), "nothing of it is an element of " + path);
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
    for (const name of ["Apples", "Bananas", "Carrots", "Dates"]) items[name] = (await call("POST", "/api/shopping-item", { listId: list.id, name, amount: 2 })).id;
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
    await open(p, "/reports");
    await says(p, "There is no network");
    await open(p, "/shopping");
    await says(p, "3 ticked, not sent yet");
    // Meanwhile somebody else has bought one, and another was taken off the list.
    await call("POST", "/api/actions/check-off", { listId: list.id, items: [{ item: items.Apples }] });
    const gone = await call("DELETE", "/api/shopping-item/" + items.Bananas);
    check(gone.code === "approval_required" || gone.deleted === 1, JSON.stringify(gone));
    cut(false);
    wire.deaf = true; // what is sent now arrives, but nobody hears the answer
    await p.evaluate(() => send());
    await new Promise((done) => setTimeout(done, 300));
    wire.deaf = false;
    await open(p, "/shopping");
    await p.waitForFunction(() => !JSON.parse(localStorage.getItem("pantrypal.ticks") ?? "[]").length, { polling: 50 });
    const lots = (name) => count("pantry-item", { name, addedAt: { $gte: new Date(Date.now() - 60000).toISOString() }, source: "shopping" });
    same([await lots("Apples"), await lots("Carrots"), await lots("Dates")], [1, 1, 0], "lots");
    await open(p, "/shopping");
    await says(p, "1", "#left");
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
    await p.type("input[name=name]", "Candles");
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

  async "axe finds nothing"() {
    const p = await page(phone);
    await p.setBypassCSP(true); // of axe itself alone: it is no part of the page
    const wrong = [];
    let looked = 0;
    const run = (await call("GET", "/api/pantry-photo?pageSize=1")).items[0];
    await open(p, "/activity");
    const one = await p.$eval("a.line[href^='/activity/']", (a) => a.getAttribute("href"));
    for (const [mode, viewport] of [["light", phone], ["dark", phone], ["light", wide]]) {
      await p.setViewport(viewport);
      await p.emulateMediaFeatures([{ name: "prefers-color-scheme", value: mode }]);
      for (const path of viewport === wide ? ["/", "/week", "/reports", one] : mode === "dark" ? ["/", "/photo/" + run.id, "/shopping", "/week", "/reports"] : ["/", "/shelves?place=fridge", "/photo", "/photo/" + run.id, "/shopping", "/week", "/recipes", "/recipes/shakshuka", "/reports", "/activity", one, "/nothing"]) {
        await open(p, path);
        await p.$$eval("details", (all) => all.slice(0, 12).forEach((d) => (d.open = true)));
        const found = await p.evaluate((source, only) => {
          if (!globalThis.axe) new Function(source)();
          return axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: only }) });
        }, axe, mode === "dark" ? ["color-contrast"] : null);
        looked++;
        await fits(p);
        for (const v of found.violations) wrong.push(`${path} ${mode} ${viewport.width}: ${v.id} ${v.nodes.slice(0, 2).map((n) => n.html.slice(0, 120) + " " + (n.any[0]?.message ?? "")).join(" | ")}`);
      }
    }
    same(wrong, [], "violations");
    await p.close();
    return { looked };
  },
};

const only = process.env.STORY;
for (const [story, tell] of Object.entries(stories)) {
  if (only && story !== "sign in" && !story.includes(only)) continue;
  const began = Date.now();
  let more = {}, error = "";
  try {
    more = (await Promise.race([tell(), new Promise((_, late) => setTimeout(late, 40000, new Error("the story takes too long")))])) ?? {};
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

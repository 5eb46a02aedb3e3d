// People use the console, in Chromium. Prints one line of JSON for each story: {story, error, ...figures}.
//
//   node console.mjs LINK [FOLDER]
//
// LINK signs in, once. With FOLDER, pictures are taken instead.
import { createRequire } from "node:module";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { connect, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import puppeteer from "puppeteer-core";

const [link, folder] = process.argv.slice(2);
const base = new URL(link).origin;
const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");

const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"] });
const wide = { width: 1280, height: 800 }, phone = { width: 390, height: 844, isMobile: true, hasTouch: true };

function check(ok, what) {
  if (!ok) throw new Error(what);
}
function same(is, want, what) {
  check(JSON.stringify(is) === JSON.stringify(want), `${what}: ${JSON.stringify(is)}, want ${JSON.stringify(want)}`);
}

// call is a program without a session, on the same machine.
async function call(method, path, body) {
  const r = await fetch(base + path, { method, headers: { "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json" }, body: body && JSON.stringify(body) });
  return r.status === 204 ? null : r.json();
}
const execute = (code, more) => call("POST", "/tools/koan.code.execute", { code, ...more });
// remove deletes a row, which the person at the page approves.
async function remove(p, path) {
  const { details } = await call("DELETE", path);
  const approve = (id) => fetch(`/api/console/plans/${id}/approve`, { method: "POST", headers: { "Koan-Console": "1", "Content-Type": "application/json" }, body: "{}" }).then((r) => r.status);
  same(await p.evaluate(approve, details.planId), 200, "the plan is applied");
}
const title = async (id) => (await call("GET", "/api/todo/" + encodeURIComponent(id))).title;

// page opens a page that notes what goes wrong in it.
async function page(viewport = wide, context = browser) {
  const p = await context.newPage();
  await p.setViewport(viewport);
  p.wrong = [];
  // A question about what is not there yet is asked again: puppeteer stops asking where it throws.
  const wait = p.waitForFunction.bind(p);
  p.waitForFunction = (is, ...more) => wait(new Function("...args", `try { return (${is})(...args); } catch { return null; }`), ...more);
  p.flying = new Set();
  p.on("request", (r) => p.flying.add(r)).on("requestfinished", (r) => p.flying.delete(r)).on("requestfailed", (r) => p.flying.delete(r));
  p.on("pageerror", (e) => p.wrong.push(e.message));
  p.on("console", (m) => m.type() === "error" && !/status of 4\d\d/.test(m.text()) && p.wrong.push(m.text()));
  p.on("dialog", (d) => (p.wrong.push("a dialog: " + d.message()), d.dismiss()));
  await p.evaluateOnNewDocument(() => {
    globalThis.violations = [];
    addEventListener("securitypolicyviolation", (e) => violations.push(e.violatedDirective + " " + e.blockedURI));
  });
  p.setDefaultTimeout(60_000); // the editor compiles in the browser, which a busy machine slows down
  return p;
}
async function sane(p) {
  same(p.wrong, [], "errors of the page");
  same(await p.evaluate(() => violations), [], "violations of the policy");
}
// settled waits until the page shows what it has asked for.
async function settled(p) {
  await p.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done, 20)))));
  await p.waitForFunction(() => document.querySelector("main") && !document.querySelector("main[aria-busy=true], main [aria-busy=true]"), { polling: 30 }, { polling: 30 });
}
// open goes to a path as a link of the page would.
async function open(p, path) {
  if (p.url().startsWith(base + "/console")) {
    await p.evaluate((to) => {
      history.pushState(null, "", to);
      dispatchEvent(new PopStateEvent("popstate"));
    }, "/console" + path);
  } else await p.goto(base + "/console" + path, { waitUntil: "domcontentloaded" });
  await settled(p);
}
const says = (p, text, selector = "main") => p.waitForFunction((s, t) => document.querySelector(s)?.innerText.includes(t), { polling: 30 }, selector, text);
// still waits until an element stays where it is: a click is at a point, which a notice that appears can move.
const still = async (e) => {
  const at = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(JSON.stringify(e.getBoundingClientRect())))));
  for (let was, is = await at(); was !== is; ) [was, is] = [is, await at()];
};
const press = async (p, text, selector = "button, a.button") => {
  const found = await p.waitForFunction((s, t) => [...document.querySelectorAll(s)].find((b) => b.innerText.trim().startsWith(t) && !b.disabled && b.checkVisibility()), { polling: 30 }, selector, text);
  await found.evaluate(still);
  await found.asElement().click();
};
// send presses what changes a row, and waits until that is changed: the notice of an earlier change may still be there.
const send = (p, text) => Promise.all([p.waitForResponse((r) => r.request().method() === "PATCH" && r.ok()), press(p, text)]);
const chord = async (p, ...keys) => {
  for (const k of keys.slice(0, -1)) await p.keyboard.down(k);
  await p.keyboard.press(keys.at(-1));
  for (const k of keys.slice(0, -1).reverse()) await p.keyboard.up(k);
};
// within waits for an element of the editor, which is in a shadow root: puppeteer's own selectors do not see when that changes.
const within = async (p, selector = ".cm-content") => (await p.waitForFunction((s) => document.querySelector(".pane .editor")?.shadowRoot?.querySelector(s), { polling: 30 }, selector)).asElement();
async function write(p, text) {
  const at = await within(p);
  await at.click();
  await chord(p, "Control", "a");
  await p.keyboard.press("Backspace");
  await p.keyboard.sendCharacter(text);
}
// put types into a field. A page that shows what has changed meanwhile may replace the field under the typing: then it is
// typed again.
async function put(p, selector, text) {
  for (let tries = 3; tries > 0; tries--) {
    const at = await p.waitForSelector(selector);
    await at.focus();
    await at.evaluate((e) => e.select());
    await p.keyboard.press("Backspace");
    await p.keyboard.type(text);
    await p.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    if (await p.evaluate((s, t) => document.querySelector(s)?.value === t, selector, text)) return;
  }
}

// frame waits until the page has shown what it knows.
const frame = (p) => p.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
// until waits for what the page itself does not know.
async function until(p, is, what) {
  for (const end = Date.now() + 30_000; !is(); await frame(p)) check(Date.now() < end, what);
}
// slowly types as a person does, who sees each letter.
async function slowly(p, selector, text) {
  await put(p, selector, "");
  for (const c of text) {
    await p.keyboard.type(c);
    await frame(p);
  }
}
// visible makes the page believe that its tab is in front, or is not.
const visible = (p, is) => p.evaluate((state) => {
  Object.defineProperty(document, "visibilityState", { configurable: true, get: () => state });
  document.dispatchEvent(new Event("visibilitychange"));
}, is ? "visible" : "hidden");
// relay is the server at an address of its own, whose connections can be cut.
async function relay() {
  const to = new URL(base), open = new Set();
  const server = createServer((near) => {
    if (!relay.up) return near.destroy();
    const far = connect(Number(to.port), to.hostname);
    for (const s of [near, far]) s.on("error", () => {}).on("close", () => (open.delete(s), near.destroy(), far.destroy()));
    open.add(near).add(far);
    near.pipe(far).pipe(near);
  });
  await new Promise((done) => server.listen(0, to.hostname, done));
  const set = (up) => {
    relay.up = up;
    if (!up) for (const s of open) s.destroy();
  };
  set(true);
  return { base: `http://${to.hostname}:${server.address().port}`, set, close: () => (set(false), server.close()) };
}
const cells = (p, n) => p.$$eval("table.grid tbody tr", (rows, i) => rows.map((r) => r.children[i].innerText), n);
const valid = (p, selector) => p.$eval(selector, (f) => f.validationMessage);

const stories = {
  async "sign in"() {
    const stranger = await browser.createBrowserContext();
    const before = await page(wide, stranger);
    await open(before, "/runs");
    await says(before, "Sign in to the console");
    await before.goto(base); // the bare address
    await says(before, "Sign in to the console");
    same(new URL(before.url()).pathname, "/console", "where a person comes who opens the bare address");
    same((await call("GET", "/nothing")).code, "not_found", "another path");
    await press(before, "Print a new link");
    await says(before, "A link was printed");
    const p = await page();
    await p.goto(link, { waitUntil: "domcontentloaded" });
    await within(p);
    same(new URL(p.url()).pathname, "/console", "where the link leads");
    same((await p.cookies()).map((c) => [c.httpOnly, c.sameSite]), [[true, "Strict"]], "cookies");
    await before.goto(link);
    await says(before, "does not work any more");
    await before.goto(base + "/console", { waitUntil: "domcontentloaded" });
    await says(before, "Sign in to the console");
    await sane(before);
    await stranger.close();
    await sane(p);
    await p.close();
  },

  async "write and dry-run a script"() {
    const p = await page();
    await open(p, "");
    await write(p, "SDK.Entities.Todo");
    await p.keyboard.type(".");
    await within(p, ".cm-tooltip-autocomplete li");
    const offered = await p.$$eval(".pane .editor >>> .cm-tooltip-autocomplete li", (items) => items.map((i) => i.innerText.trim()));
    for (const name of ["collection", "patch", "getById", "deleteByQuery"]) check(offered.includes(name), `${name} is offered: ${offered}`);
    check(!offered.includes("toString") || offered.indexOf("toString") > offered.indexOf("patch"), "own names come first");
    const first = (name) => p.waitForFunction((n) => document.querySelector(".pane .editor").shadowRoot.querySelector(".cm-tooltip-autocomplete li[aria-selected]")?.innerText.trim() === n, { polling: 30 }, name);
    await p.keyboard.type("coll");
    await first("collection");
    await new Promise((done) => setTimeout(done, 50)); // the editor takes no key for a choice at once
    await p.keyboard.press("Enter");
    await p.keyboard.type("({ filter: { compl");
    await first("completed");
    for (let n = 0; n < 6; n++) { // asked again, now that it is warm
      await p.keyboard.press("Escape");
      await p.waitForFunction(() => !document.querySelector(".pane .editor").shadowRoot.querySelector(".cm-tooltip-autocomplete"), { polling: 30 });
      await chord(p, "Control", " ");
      await first("completed");
    }
    await p.keyboard.press("Escape");
    await write(p, "SDK.Entities.Todoo.count();");
    await within(p, ".cm-lintRange-error");
    await write(p, "const one = SDK.Entities.Todo.getById(SDK.args.id);\nconsole.log('before', one.title);\nSDK.Entities.Todo.patch(one.id, { title: 'Tried' });\nSDK.Out.answer({ was: one.title });\n");
    await p.click(".options summary");
    await p.waitForSelector("#args", { visible: true });
    await put(p, "#args", '{"id": "1"}');
    await (await within(p)).click();
    await chord(p, "Control", "Enter");
    await says(p, "dry run, nothing is kept");
    await says(p, "Tried", ".changes");
    await says(p, "Write tests", ".changes .was");
    await press(p, "Calls", "[role=tab]");
    await says(p, "todo.patch", ".calls");
    await press(p, "Log", "[role=tab]");
    await says(p, "before Write tests", ".log");
    await press(p, "Answer", "[role=tab]");
    await says(p, '"was": "Write tests"', "[role=tabpanel]");
    same(await title("1"), "Write tests", "the data");
    await write(p, "const x = 1;\n\nSDK.Entities.Todo.getById('none');\n");
    await chord(p, "Control", "Enter");
    await says(p, "line 3", ".fault");
    await press(p, "Copy link");
    await p.waitForFunction(() => location.hash.startsWith("#script="), { polling: 30 });
    const shared = await page();
    await shared.goto(await p.evaluate(() => location.href), { waitUntil: "domcontentloaded" });
    const has = (text) => shared.waitForFunction((t) => document.querySelector(".pane .editor")?.shadowRoot?.textContent.includes(t), { polling: 30 }, text);
    await has("getById('none')");
    await shared.evaluate(() => (location.hash = "#script=" + btoa("'another script';")));
    await has("another script");
    await write(shared, "'edited after the link';"); // which stands for another script from then on
    await shared.waitForFunction(() => !location.hash, { polling: 30 });
    await shared.reload();
    await has("edited after the link");
    await write(shared, "SDK.Entities.Todo.delete('1');");
    await chord(shared, "Control", "Shift", "Enter");
    await says(shared, "waits for approval", ".state");
    await sane(shared);
    await shared.close();
    const times = await p.evaluate(() => performance.getEntriesByName("types:complete").map((e) => e.duration));
    await sane(p);
    await p.close();
    times.sort((a, b) => a - b);
    return { completions: times.length, completionMs: Math.round(times[times.length >> 1]) };
  },

  async "the editor finds nothing wrong with examples"() {
    const p = await page();
    await open(p, "");
    const chosen = await p.$$eval("select[aria-label=Examples] option", (all) => all.map((o) => o.value).filter(Boolean));
    check(chosen.length >= 5, "there are examples");
    const codes = [];
    for (const value of chosen) {
      await p.select("select[aria-label=Examples]", value);
      codes.push(await p.waitForFunction((known) => {
        const text = [...document.querySelector(".pane .editor").shadowRoot.querySelectorAll(".cm-line")].map((l) => l.innerText).join("\n");
        return !known.includes(text) && text;
      }, { polling: 30 }, codes).then((h) => h.jsonValue()));
    }
    const sheet = readFileSync(new URL("../../docs/reference/cheatsheet.md", import.meta.url), "utf8").match(/```js\n([^]*?)```/)[1];
    for (const code of [...codes, sheet]) {
      await write(p, code.replace(/\u00a0/g, " ") + "\nSDK.Nobody;"); // which says that the check is done
      const found = await p.waitForFunction(() => {
        const marks = [...document.querySelector(".pane .editor").shadowRoot.querySelectorAll(".cm-lintRange")].map((m) => m.innerText);
        return marks.includes("Nobody") && marks;
      }, { polling: 30 }).then((h) => h.jsonValue());
      same(found, ["Nobody"], code);
    }
    await sane(p);
    await p.close();
    return { examples: codes.length };
  },

  async "find anything with the keyboard"() {
    const p = await page();
    await open(p, "/status");
    await chord(p, "Control", "k");
    await p.waitForSelector(".palette input:focus");
    await p.keyboard.type("fail");
    await p.keyboard.press("Enter");
    await p.waitForFunction(() => location.pathname === "/console/runs" && location.search.includes("outcome=%21ok"), { polling: 30 });
    await says(p, "not_found");
    await chord(p, "Control", "k");
    await p.waitForSelector(".palette input:focus");
    await p.keyboard.type("new todo");
    await p.keyboard.press("Enter");
    await says(p, "New Todo", "h1");
    same(await p.evaluate(() => document.activeElement.id), "main", "where the focus is");
    await chord(p, "Control", "k");
    await p.waitForSelector(".palette input:focus");
    for (let n = 0; n < 11; n++) await p.keyboard.press("ArrowDown");
    await frame(p);
    const inside = await p.$eval("#found [aria-selected=true]", (li) => [li.getBoundingClientRect(), li.parentElement.getBoundingClientRect()].map((r) => r.bottom));
    check(inside[0] <= inside[1] + 1, "what is chosen is in sight: " + inside);
    await p.keyboard.press("Escape");
    await p.goBack();
    await says(p, "Runs", "h1");
    await sane(p);
    await p.close();
  },

  async "approve a plan on a phone"() {
    await call("POST", "/api/todo", { id: "old", title: "Old work" });
    const reply = await execute("SDK.Entities.Todo.delete('old');");
    const plan = reply.error.details.planId;
    const p = await page(phone);
    await open(p, "/runs");
    await p.waitForSelector(".bar .count");
    await p.tap("a[href='/console/plans']");
    await says(p, "deletes 1 (1 Todo)");
    await (await p.waitForSelector(`.card a[href$="${plan}"]`)).tap();
    await says(p, "Old work", ".changes");
    same(await p.evaluate(() => [document.documentElement.scrollWidth, innerWidth]), [390, 390], "the width of the page");
    check(p.url().endsWith(plan), "the plan is that of the run");
    const boxes = await p.$$eval(".decide button", (all) => all.map((b) => b.getBoundingClientRect()).map((r) => r.height >= 44 && r.bottom <= innerHeight && r.right <= innerWidth));
    same(boxes, [true, true], "the buttons are in sight, and large enough for a thumb");
    await press(p, "Approve");
    await p.waitForFunction(() => location.pathname.startsWith("/console/runs/"), { polling: 30 });
    await says(p, "Deleted", ".changes");
    same((await call("GET", "/api/todo/old")).code, "not_found", "the row");

    await call("POST", "/api/todo", { id: "kept", title: "Kept work" });
    const other = await execute("SDK.Entities.Todo.delete('kept');");
    await open(p, "/plans/" + other.error.details.planId);
    const second = await page(phone);
    await open(second, "/plans/" + other.error.details.planId);
    await p.bringToFront();
    await press(p, "Deny");
    await press(p, "Deny", "dialog[open] button");
    await says(p, "was denied");
    await visible(second, true);
    await says(second, "was denied");
    await second.close();
    same(await title("kept"), "Kept work", "the row");
    await sane(p);
    await p.close();
  },

  async "find a run and undo it"() {
    await call("POST", "/api/todo", { id: "u", title: "First title" });
    const made = await execute("// the script that is looked for\nSDK.Entities.Todo.patch('u', { title: 'Second title' });\n");
    const p = await page();
    await open(p, "/runs");
    await put(p, "input[type=search]", "looked for");
    await p.keyboard.press("Enter");
    await p.waitForFunction(() => document.querySelectorAll("table.runs tbody tr").length === 1, { polling: 30 });
    await p.click("table.runs tbody a");
    await says(p, "Second title", ".changes .is");
    await says(p, "todo.patch", ".calls");
    await p.waitForFunction(() => document.querySelector(".editor.read")?.shadowRoot?.textContent.includes("looked for"), { polling: 30 });
    check(p.url().endsWith(made.result.runId), "the run's address has its id");
    await press(p, "Replay");
    await says(p, "The replay is identical");
    await press(p, "Undo");
    await says(p, "First title", "dialog[open]");
    await press(p, "Undo", "dialog[open] button");
    await says(p, "was undone");
    same(await title("u"), "First title", "the row");
    await p.reload();
    await says(p, "cannot be undone as a whole");
    check(await p.$eval("button.danger", (b) => b.disabled), "what certainly fails is not offered");
    await press(p, "See what can still be undone");
    await says(p, "Nothing of it is left to undo");
    await press(p, "Run with other arguments");
    await p.waitForFunction(() => document.querySelector(".pane .editor")?.shadowRoot?.textContent.includes("looked for"), { polling: 30 });
    await sane(p);
    await p.close();
  },

  async "edit a row"() {
    await call("POST", "/api/person", { id: "ann", name: "Ann", email: "ann@example.org" });
    await call("POST", "/api/todo", { id: "e", title: "Edit me", assignedUserId: "ann" });
    const p = await page();
    await open(p, "/entities");
    await p.click("a[href='/console/entities/Todo']");
    await p.select("select[aria-label=Field]", "title");
    await put(p, "input[aria-label=Value]", "edit me");
    await press(p, "Filter");
    await p.waitForFunction(() => document.querySelectorAll("table.grid tbody tr").length === 1, { polling: 30 });
    await p.click("table.grid tbody a");
    await says(p, "Ann", "aside");
    await p.goBack();
    await p.waitForFunction(() => document.querySelectorAll("table.grid tbody tr").length === 1, { polling: 30 });
    await new Promise((done) => setTimeout(done, 300)); // the stream of changes is open
    await call("POST", "/api/todo", { id: "e2", title: "Edit me too" });
    await p.waitForFunction(() => document.querySelectorAll("table.grid tbody tr").length === 2, { polling: 30 });
    await p.click("table.grid tbody a[href$='/e']");
    await says(p, "Ann", "aside");
    await put(p, "#field-title", "Edited");
    await p.select("#field-priority", '"high"');
    await press(p, "Save");
    await says(p, "Saved.", ".notices");
    same((({ title, priority }) => ({ title, priority }))(await call("GET", "/api/todo/e")), { title: "Edited", priority: "high" }, "the row");
    // Somebody else is faster: both are shown, and what was typed is kept until it is given up.
    const late = async (theirs) => {
      await call("PATCH", "/api/todo/e", theirs);
      await put(p, "#field-title", "Mine");
      await press(p, "Save");
      await says(p, "Somebody else has changed this row");
      same(await p.$eval("#field-title", (f) => f.value), "Mine", "what was typed");
      same(await p.$$eval("table.both tbody tr:first-child > *", (cells) => cells.map((c) => c.textContent)), ["title", theirs.title, "Mine"], "what both changed");
    };
    await late({ title: "Theirs", priority: "low" });
    await send(p, "Save my changes over it");
    await p.waitForFunction(() => !document.querySelector("table.both"), { polling: 30 });
    same((({ title, priority }) => ({ title, priority }))(await call("GET", "/api/todo/e")), { title: "Mine", priority: "low" }, "the row with both changes");
    // What is typed before the answer is there stays in the form, and is not saved yet.
    await put(p, "#field-title", "Mine again");
    let held;
    const hold = (r) => (r.method() === "PATCH" && !held ? (held = r) : r.continue());
    await p.setRequestInterception(true);
    p.on("request", hold);
    await press(p, "Save");
    await until(p, () => held, "the form is sent");
    await put(p, "#field-notes", "Typed meanwhile");
    await held.continue();
    await p.waitForFunction(() => document.querySelector("h1").textContent === "Mine again", { polling: 30 });
    p.off("request", hold);
    await p.setRequestInterception(false);
    same(await p.$eval("#field-notes", (f) => f.value), "Typed meanwhile", "what was typed meanwhile");
    same((({ title, notes }) => ({ title, notes }))(await call("GET", "/api/todo/e")), { title: "Mine again", notes: null }, "what is saved");
    await send(p, "Save");
    same((await call("GET", "/api/todo/e")).notes, "Typed meanwhile", "what is saved then");
    await late({ title: "Somebody was faster" });
    await press(p, "Take theirs");
    await p.waitForFunction(() => document.querySelector("#field-title").value === "Somebody was faster", { polling: 30 });
    // Somebody else deletes it: what was typed is kept, and becomes a row again.
    await put(p, "#field-title", "Typed at length");
    await p.select("#field-priority", '"high"');
    await remove(p, "/api/todo/e");
    await press(p, "Save");
    await says(p, "Somebody else has deleted this row", ".fault");
    await says(p, "undo the run that deleted it", ".fault");
    const typed = await p.$$eval("#field-title, #field-priority", (all) => all.map((f) => f.value));
    same(typed, ["Typed at length", '"high"'], "what was typed");
    check((await p.$$eval(".fault a", (all) => all.map((a) => a.target))).includes("_blank"), "looking for the run does not close the form");
    await press(p, "Save");
    await says(p, "Somebody else has deleted this row", ".fault");
    await press(p, "Create it again");
    await says(p, "Todo was created again.", ".notices");
    await p.waitForFunction(() => !document.querySelector(".fault"), { polling: 30 });
    same((({ title, priority, assignedUserId }) => ({ title, priority, assignedUserId }))(await call("GET", "/api/todo/e")), { title: "Typed at length", priority: "high", assignedUserId: "ann" }, "the row that was deleted");
    // The same of a row whose ids the database makes: it gets another one.
    const { id: last } = await call("POST", "/api/label", { name: "Label" });
    await open(p, "/entities/Label/" + last);
    await put(p, "#field-name", "Typed label");
    await remove(p, "/api/label/" + last);
    await press(p, "Save");
    await press(p, "Create it again");
    await p.waitForFunction((was) => /Label\/\d+$/.test(location.pathname) && !location.pathname.endsWith("/" + was), { polling: 30 }, last);
    await p.waitForFunction(() => document.querySelector("#field-name")?.value === "Typed label", { polling: 30 });
    await remove(p, "/api/label/" + p.url().split("/").at(-1));
    await press(p, "Delete");
    await press(p, "Delete", "dialog[open] button");
    await says(p, "Somebody else had deleted it before.", ".notices");
    await open(p, "/entities/Todo/e");
    await put(p, "#field-tags", '"no list"');
    await press(p, "Save");
    await says(p, "tags", ".fault");
    await press(p, "Discard");
    await open(p, "/entities/Todo/+new");
    await put(p, "#field-title", "Made here");
    await press(p, "Create");
    await says(p, "Made here", "h1");
    await press(p, "Delete");
    await press(p, "Delete", "dialog[open] button");
    await says(p, "approve", ".fault.waits");
    await frame(p);
    const shown = await p.$eval(".fault.waits a.button", (a) => [a.getBoundingClientRect()].map((r) => r.top >= 52 && r.bottom <= innerHeight)[0]);
    check(shown, "what is to be done about the row is in sight");
    await open(p, "/entities/AuditLog");
    await says(p, "No AuditLog yet");
    await sane(p);
    await p.close();
  },

  async "make a row, and change none"() {
    const p = await page(), made = [];
    p.on("request", (r) => r.method() !== "GET" && made.push(r.method() + " " + new URL(r.url()).pathname));
    await open(p, "/entities/Todo/+new");
    await put(p, "#field-title", "x".repeat(300));
    await p.$eval("#field-title", (f) => f.removeAttribute("maxlength"));
    await put(p, "#field-title", "x".repeat(300));
    await press(p, "Create");
    await says(p, "title", ".fault");
    await put(p, "#field-title", "Made once");
    await press(p, "Create");
    await says(p, "Made once", "h1");
    const writes = made.filter((m) => !m.endsWith(":new") && m.includes("/api/todo"));
    check(writes.length > 0 && writes.every((m) => m === "POST /api/todo:create"), "rows are made by create alone: " + writes);
    await sane(p);
    await p.close();
  },

  async "type what is no text"() {
    await call("POST", "/api/todo", { id: "n", title: "Numbers" });
    const p = await page();
    await open(p, "/entities/Todo/n");
    await says(p, "Numbers", "h1");
    for (const [typed, kept] of [["0.05", 0.05], ["12.50", 12.5], ["3.14", 3.14]]) {
      await slowly(p, "#field-effort", typed);
      same(await p.$eval("#field-effort", (f) => f.value), typed, "what was typed");
      await press(p, "Save");
      await p.waitForFunction(() => [...document.querySelectorAll("main form button")].every((b) => b.innerText !== "Discard"), { polling: 30 });
      same((await call("GET", "/api/todo/n")).effort, kept, "what is stored of " + typed);
    }
    await put(p, "#field-views", "9007199254740993");
    await press(p, "Save");
    await p.waitForFunction(() => !document.querySelector("main form button[type=button]"), { polling: 30 });
    same((await call("GET", "/api/todo/n")).views, "9007199254740993", "an integer that JavaScript rounds");
    for (const [field, typed, says] of [["effort", "-0.5", "at least 0"], ["effort", "1001", "at most 1000"], ["effort", "0,5", "such as 12.5"], ["views", "1.5", "whole number"], ["tags", '["x"', "not JSON"]]) {
      await slowly(p, "#field-" + field, typed);
      check((await valid(p, "#field-" + field)).includes(says), `${typed} is refused: ${await valid(p, "#field-" + field)}`);
      await press(p, "Save");
      await press(p, "Discard");
      await p.waitForFunction((f) => document.querySelector(f).value !== "", { polling: 30 }, "#field-effort");
      same(await valid(p, "#field-" + field), "", "after Discard");
    }
    same((await call("GET", "/api/todo/n")).effort, 3.14, "nothing that was refused is stored");
    // A text that is discarded goes, and one that is no JSON does not outlive itself.
    const tags = () => p.$eval("#field-tags", (f) => f.value);
    const before = await tags();
    await put(p, "#field-tags", '["x"]');
    await press(p, "Discard");
    await frame(p);
    same(await tags(), before, "the text after Discard");
    await put(p, "#field-tags", "no JSON");
    await put(p, "#field-tags", "");
    await frame(p);
    same(await valid(p, "#field-tags"), "", "an empty text");
    await call("PATCH", "/api/todo/n", { tags: ["theirs"] });
    await put(p, "#field-tags", '["mine"]');
    await press(p, "Save");
    await press(p, "Take theirs");
    await p.waitForFunction(() => JSON.parse(document.querySelector("#field-tags").value)[0] === "theirs", { polling: 30 });
    await sane(p);
    await p.close();
  },

  async "relate rows"() {
    await call("POST", "/api/todo", { id: "r", title: "Related" });
    const { id: label } = await call("POST", "/api/label", { name: "Urgent" });
    const p = await page();
    await open(p, "/entities/Step/+new");
    await put(p, "#field-text", "First step");
    await put(p, "#field-todo", "relat");
    await p.waitForSelector("#field-todo-rows option[value=r]");
    await put(p, "#field-todo", "r");
    await press(p, "Create");
    await p.waitForFunction(() => /Step\/[^+]/.test(location.pathname), { polling: 30 });
    const step = await call("GET", "/api/step/" + p.url().split("/").at(-1) + "?with=todo");
    same(step.todo.id, "r", "the todo of the step");
    await open(p, "/entities/Todo/r");
    await put(p, "#field-notes", "being typed");
    const labels = async () => (await call("GET", "/api/todo/r?with=labels")).labels.map((l) => l.id);
    await put(p, "#add-labels", label);
    await press(p, "Add", "form[aria-label='Add to labels'] button");
    await says(p, "Urgent", "aside li"); // beside the input it stands as soon as the id is known
    same(await labels(), [label], "the labels");
    same(await p.$eval("#field-notes", (f) => f.value), "being typed", "the form");
    await (await p.waitForSelector("aside button[aria-label^='Remove Urgent']:not(:disabled)")).click();
    await p.waitForFunction(() => !document.querySelector("aside").innerText.includes("Urgent"), { polling: 30 });
    same(await labels(), [], "the labels");
    await press(p, "Save");
    await says(p, "Saved.", ".notices");
    await sane(p);
    await p.close();
  },

  async "see rows as they are"() {
    for (const id of ["s1", "s2"]) await call("POST", "/api/todo", { id, title: "Row " + id });
    const p = await page(), near = await relay();
    const held = [];
    await p.setRequestInterception(true);
    p.on("request", (r) => (r.url().includes("q=Row+s1") && !held.length ? held.push(r) : r.continue()));
    await p.goto(near.base + "/console/entities/Todo?sort=title", { waitUntil: "domcontentloaded" });
    await says(p, "Row s2");
    // An answer that comes late is of another address.
    const to = (path) => p.evaluate((at) => {
      history.pushState(null, "", at);
      dispatchEvent(new PopStateEvent("popstate"));
    }, "/console" + path);
    await to("/entities/Todo?q=Row+s1");
    await until(p, () => held.length, "the rows are asked for");
    await to("/entities/Todo?q=Row+s2");
    await p.waitForFunction(() => document.querySelectorAll("table.grid tbody tr").length === 1, { polling: 30 });
    const late = p.waitForResponse((r) => r.url().includes("q=Row+s1"));
    held[0].continue();
    await (await late).text();
    await settled(p);
    same(await cells(p, 0), ["Row s2"], "the rows of the address");
    // What changes while the connection is lost shows when it is back, and while the tab is hidden when it is not any more.
    const stream = () => p.waitForResponse((r) => r.url().includes("/api/events"));
    const first = stream();
    await to("/entities/Step");
    await to("/entities/Todo?q=Row");
    await first;
    await says(p, "Row s1");
    near.set(false);
    await call("PATCH", "/api/todo/s1", { title: "Row changed meanwhile" });
    p.wrong = []; // the browser says that it lost connections
    near.set(true);
    await says(p, "Row changed meanwhile");
    let closed = false;
    p.on("requestfailed", (r) => (closed ||= r.url().includes("/api/events")));
    await visible(p, false);
    await until(p, () => closed, "a tab that is hidden has no stream");
    await call("PATCH", "/api/todo/s1", { title: "Row changed in hiding" });
    await visible(p, true);
    await says(p, "Row changed in hiding");
    await to("/entities/Todo?page=9999");
    await says(p, "There is no such page");
    await press(p, "Show the last page");
    await p.waitForSelector("table.grid tbody tr");
    await p.click("table.grid th button"); // another order: a place to come back from
    await p.waitForFunction(() => location.search.includes("sort="), { polling: 30 });
    await p.goBack();
    await p.waitForFunction(() => !location.search.includes("sort="), { polling: 30 });
    for (const query of ["filter=abc", "sort=nonsense"]) {
      await to("/entities/Todo?" + query);
      await p.waitForSelector(".fault");
      check(!(await p.$("table.grid")), "no rows stand beside the fault");
      await press(p, "Show all rows");
      await p.waitForSelector("table.grid tbody tr");
    }
    p.wrong = p.wrong.filter((w) => !/ERR_(EMPTY_RESPONSE|CONNECTION|INCOMPLETE)/.test(w));
    await sane(p);
    await p.close();
    near.close();
  },

  async "keep what was typed"() {
    await call("POST", "/api/todo", { id: "k", title: "Typed into" });
    const p = await page(), typed = () => p.$eval("#field-title", (f) => f.value);
    await open(p, "/status");
    await open(p, "/entities/Todo/k");
    await put(p, "#field-title", "Typed at length");
    const cookies = await browser.cookies();
    await browser.deleteCookie(...cookies);
    await press(p, "Save");
    await says(p, "You are signed out.");
    same(await typed(), "Typed at length", "what was typed");
    await browser.setCookie(...cookies);
    const other = await page(); // somebody signs in in another tab
    await open(other, "/status");
    await p.waitForFunction(() => !document.querySelector(".signed-out"), { polling: 30 });
    await other.close();
    check(!(await p.$(".fault")), "nothing says any more that nobody has signed in");
    same(await typed(), "Typed at length", "what was typed");
    // Links ask before they drop it.
    await p.click("nav a[href='/console/runs']");
    await p.evaluate(() => history.back());
    await until(p, () => p.wrong.length === 2, "both ways are asked about");
    same(p.wrong.splice(0), Array(2).fill("a dialog: What you typed is not saved. Leave it?"), "questions");
    same([new URL(p.url()).pathname, await typed()], ["/console/entities/Todo/k", "Typed at length"], "who says no stays");
    await press(p, "Save");
    await says(p, "Saved.", ".notices");
    same(await title("k"), "Typed at length", "the row");
    await p.click("nav a[href='/console/runs']");
    await says(p, "Runs", "h1");
    await sane(p);
    await p.close();
  },

  async "give a script a file"() {
    const p = await page();
    await open(p, "");
    await p.waitForSelector(".options");
    if (!(await p.$eval(".options", (o) => o.open))) await p.click(".options summary");
    await put(p, "#args", "");
    const folder = mkdtempSync(join(tmpdir(), "koan-console-"));
    writeFileSync(join(folder, "list.json"), '{"buy":["milk"]}');
    await (await p.waitForSelector("input[type=file]")).uploadFile(join(folder, "list.json"));
    await says(p, "list.json is kept", ".notices");
    rmSync(folder, { recursive: true });
    await write(p, "SDK.Out.answer(SDK.Files.json(SDK.args.file).buy[0]);");
    await chord(p, "Control", "Enter");
    await says(p, "milk", ".answer");
    await sane(p);
    await p.close();
  },

  async "call an action"() {
    const p = await page();
    await open(p, "/actions");
    await press(p, "greet", ".card a");
    await put(p, "#field-name", "Ann");
    await press(p, "Run");
    await says(p, "Hello, Ann", ".json");
    await open(p, "");
    await within(p);
    await p.select("select[aria-label=Examples]", await p.$$eval("select[aria-label=Examples] option", (all) => all.find((o) => o.innerText === "Call an action").value));
    await chord(p, "Control", "Enter");
    await says(p, "Hello, name");
    await sane(p);
    await p.close();
  },

  async "texts of entities are texts"() {
    const evil = [`<img src=x onerror="globalThis.pwned=1">`, `"><script>globalThis.pwned=1</script>`, "javascript:globalThis.pwned=1", "${globalThis.pwned=1}", "{{constructor.constructor('pwned=1')()}}", "\u202Eevil\u0000", "__proto__"];
    await call("POST", "/api/label", { name: evil[0] });
    await call("POST", "/api/person", { id: "p<svg onload=pwned=1>", name: evil[1], email: evil[0] });
    const ids = [];
    for (const [i, text] of evil.entries()) {
      const id = i === 0 ? `a/b?c#d%25 ${text}`.slice(0, 60) : "evil" + i;
      const r = await call("POST", "/api/todo", { id, title: text.replace("\u0000", ""), notes: text.replace("\u0000", ""), tags: [text.replace("\u0000", "")], assignedUserId: "p<svg onload=pwned=1>" });
      check(r.id === id, "the row is stored: " + JSON.stringify(r).slice(0, 200));
      ids.push(id);
    }
    const made = await execute(`/* ${evil[0]} </script><script>pwned=1</script> */ for (const t of SDK.Entities.Todo.all({ filter: { id: { $startsWith: "evil" } } })) SDK.Entities.Todo.patch(t.id, { notes: t.title + ${JSON.stringify(evil[0])} }); console.log(${JSON.stringify(evil[0])}); SDK.Out.answer(${JSON.stringify(evil[1])}); throw new Error(${JSON.stringify(evil[0])})`);
    const waits = await execute(`SDK.Entities.Todo.deleteMany(${JSON.stringify(ids)}); // ${evil[0]}`);
    const p = await page();
    const places = ["/entities/Todo?set=" + encodeURIComponent(evil[0]), "/entities/Todo?q=" + encodeURIComponent(evil[0]), "/entities/Todo", "/entities/Label", "/entities/" + encodeURIComponent(evil[0]), "/runs?q=" + encodeURIComponent(evil[1]), "/runs", "/runs/" + made.result.runId, "/runs/" + encodeURIComponent(evil[0]), "/plans", "/plans/" + waits.error.details.planId, "/#script=" + btoa(evil[0]), "/actions/" + encodeURIComponent(evil[1]), ...ids.map((id) => "/entities/Todo/" + encodeURIComponent(id))];
    for (const at of places) {
      await open(p, at);
      await p.waitForSelector("main#main > *");
      check((await p.evaluate(() => globalThis.pwned)) === undefined, "a text was executed at " + at);
      same(await p.evaluate(() => [...document.querySelectorAll("#app script, #app img, #app iframe, a[href^='javascript:']")].length), 0, "elements of texts at " + at);
    }
    await open(p, "/entities/Todo/" + encodeURIComponent(ids[0]));
    await p.waitForFunction((t) => document.querySelector("#field-title")?.value === t, { polling: 30 }, evil[0]);
    await sane(p);
    await p.close();
  },

  async "axe finds nothing"() {
    const wait = await execute("SDK.Entities.Todo.delete('1');");
    const ran = await execute("for (const t of SDK.Entities.Todo.all()) SDK.Entities.Todo.patch(t.id, { views: 3 }); console.warn('w');");
    const views = ["", "/entities", "/entities/Todo", "/entities/Todo/1", "/entities/Todo/+new", "/entities/Nothing", "/entities/AuditLog", "/runs", "/runs/" + ran.result.runId, "/plans", "/plans/" + wait.error.details.planId, "/actions", "/actions/action::greet", "/status", "/none"];
    const p = await page();
    let looked = 0;
    const found = [];
    const look = async (where, at = p) => {
      const { violations } = await at.evaluate(async (source, only) => {
        if (!globalThis.axe) new Function(source)();
        return axe.run(document, { resultTypes: ["violations"], ...(only && { runOnly: only }) });
      }, axe, where.startsWith("dark") ? ["color-contrast"] : null); // the other rules look at what both themes have in common
      looked++;
      for (const v of violations) found.push(`${where}: ${v.id}: ${v.nodes.slice(0, 2).map((n) => n.target.join(" ") + " " + n.html.slice(0, 120)).join("; ")}`);
    };
    await p.setBypassCSP(true); // of axe itself alone: it is no part of the page
    for (const theme of ["light", "dark"]) {
      await p.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
      for (const at of views) {
        await open(p, at);
        await p.waitForSelector("main#main h1, main#main h2");
        if (at === "") {
          await within(p);
          await write(p, "SDK.Entities.Todo.patch('1', { title: 'x' }); throw new Error('no');");
          await chord(p, "Control", "Enter");
          await p.waitForSelector(".fault");
          await look(theme + " script that failed");
          await write(p, "SDK.Entities.Todo");
          await p.keyboard.type(".");
          await within(p, ".cm-tooltip-autocomplete li");
          await frame(p);
        }
        if (at.endsWith("greet")) {
          await put(p, "#field-name", "Ann");
          await press(p, "Run");
          await p.waitForSelector("main .json");
        }
        await look(theme + " " + at);
      }
      await chord(p, "Control", "k");
      await p.waitForSelector(".palette input:focus");
      await look(theme + " palette");
      await p.keyboard.press("Escape");
    }
    await p.setViewport(phone);
    for (const at of ["", "/entities/Todo", "/runs/" + ran.result.runId, "/plans/" + wait.error.details.planId]) {
      await open(p, at);
      await p.waitForSelector("main#main > *");
      await look("phone " + at);
      check((await p.evaluate(() => Math.max(document.documentElement.scrollWidth, innerWidth))) === 390, "the page is as wide as the phone: " + at);
    }
    const stranger = await browser.createBrowserContext(), out = await page(wide, stranger);
    await out.setBypassCSP(true);
    await open(out, "");
    await look("sign in", out);
    await out.close();
    await stranger.close();
    check(!found.length, found.join("\n"));
    await p.close();
    return { looked };
  },

  async "sign out"() {
    const p = await page();
    await open(p, "/runs");
    await p.click("button[aria-label^='Sign out']");
    await says(p, "Sign in to the console");
    await open(p, "/runs");
    await says(p, "Sign in to the console");
    await p.close();
  },
};

// pictures are those in docs, of the sample.
async function pictures() {
  const entry = await page();
  await entry.goto(link, { waitUntil: "domcontentloaded" });
  await within(entry);
  await entry.close();
  const take = async (name, viewport, theme, tell) => {
    const p = await page(viewport);
    await p.emulateMediaFeatures([{ name: "prefers-color-scheme", value: theme }]);
    await tell(p);
    await settled(p);
    await p.screenshot({ path: join(folder, name + ".png"), optimizeForSpeed: false });
    await p.close();
  };
  const soon = `// What goes off first is frozen.
const { PantryItem } = SDK.Entities;
const soon = PantryItem.collection({
  filter: { status: "available", place: "fridge", bestBefore: { $ne: null } },
  sort: "bestBefore", pageSize: 4,
});
for (const item of soon.items) {
  PantryItem.patch(item.id, { place: "freezer" });
  console.log("frozen:", item.name, item.bestBefore);
}
SDK.Out.answer(soon.items.map((one) => one.name));
`;
  await take("console-playground", { width: 1280, height: 760 }, "light", async (p) => {
    await open(p, "");
    await write(p, soon);
    await chord(p, "Control", "Enter");
    await says(p, "dry run, nothing is kept");
  });
  const ran = await execute(soon);
  await take("console-run", { width: 1280, height: 760 }, "dark", async (p) => {
    await open(p, "/runs/" + ran.result.runId);
    await says(p, "freezer", ".changes");
    await p.waitForFunction(() => document.querySelector(".editor.read")?.shadowRoot?.textContent.includes("goes off"), { polling: 30 });
  });
  const waits = await execute("const old = SDK.Entities.PantryItem.collection({ filter: { status: 'available', bestBefore: { $ne: null } }, sort: 'bestBefore', pageSize: 2 }).items;\nSDK.Entities.PantryItem.deleteMany(old.map((one) => one.id));");
  await take("console-plan", phone, "light", (p) => open(p, "/plans/" + waits.error.details.planId));
  await take("console-entities", { width: 1280, height: 620 }, "dark", (p) => open(p, "/entities/PantryItem?sort=bestBefore&filter=" + encodeURIComponent('{"status":"available","bestBefore":{"$ne":null}}')));
}

if (folder) {
  await pictures();
  await browser.close();
  process.exit();
}

for (const [story, tell] of Object.entries(stories)) {
  const began = Date.now();
  try {
    const figures = await tell();
    console.log(JSON.stringify({ story, ms: Date.now() - began, ...figures }));
  } catch (e) {
    const open = (await browser.pages()).slice(1);
    const shown = await Promise.all(open.map((p) => p.evaluate(() => [
      location.href, "focus on " + document.activeElement?.outerHTML.slice(0, 80), ...[...document.querySelectorAll("input:invalid, textarea:invalid")].map((f) => `${f.id} is invalid: ${f.validationMessage} (${f.value})`),
      ...[...document.querySelectorAll("main form button")].map((b) => b.innerText + (b.disabled ? " disabled" : "")), document.body.innerText.slice(0, 500),
      "in the editor: " + [...(document.querySelector(".pane .editor")?.shadowRoot?.querySelectorAll(".cm-line") || [])].map((l) => l.innerText).join("\n"),
    ].join("\n")).then((text) => [...(p.wrong || []).map((w) => "error of the page: " + w + "\n"), ...(p.flying || [])].map((r) => (r.url ? "no answer yet: " + r.method() + " " + r.url() + "\n" : r)).join("") + text).catch(String)));
    console.log(JSON.stringify({ story, ms: Date.now() - began, error: [e.stack || e, ...shown].join("\n") }));
    if (story === "sign in") break;
    for (const p of open) {
      if (process.env.SHOW) await p.bringToFront().then(() => p.screenshot({ path: join(process.env.SHOW, story.replace(/\W+/g, "-") + ".png") })).catch(() => {});
      await p.close().catch(() => {});
    }
  }
}
await browser.close();
process.exit(); // whatever a story that failed has left open

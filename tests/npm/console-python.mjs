// A person writes scripts in Python in the console's playground, in Chromium.
//
//   node console-python.mjs LINK
import puppeteer from "puppeteer-core";

const [link] = process.argv.slice(2);
const base = new URL(link).origin;
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"] });

function check(ok, what) {
  if (!ok) throw new Error(what);
}
const p = await browser.newPage();
const wrong = [];
p.on("pageerror", (e) => wrong.push(e.message));
p.setDefaultTimeout(60_000);
const polling = { polling: 30 };
const within = (selector) => p.waitForFunction((s) => document.querySelector(".pane .editor")?.shadowRoot?.querySelector(s), polling, selector).then((h) => h.asElement());
const has = (text) => p.waitForFunction((t) => [...(document.querySelector(".pane .editor")?.shadowRoot?.querySelectorAll(".cm-line") || [])].map((l) => l.innerText).join("\n").includes(t), polling, text);
const says = (text, selector = "main") => p.waitForFunction((s, t) => document.querySelector(s)?.innerText.includes(t), polling, selector, text);
const chord = async (...keys) => {
  for (const k of keys.slice(0, -1)) await p.keyboard.down(k);
  await p.keyboard.press(keys.at(-1));
  for (const k of keys.slice(0, -1).reverse()) await p.keyboard.up(k);
};
async function write(text) {
  await (await within(".cm-content")).click();
  await chord("Control", "a");
  await p.keyboard.press("Backspace");
  await p.keyboard.sendCharacter(text);
  await has(text.split("\n")[0]);
}
// offered are the completions of a text.
async function offered(text) {
  await write(text);
  await chord("Control", "Space");
  await within(".cm-tooltip-autocomplete li");
  const labels = await p.evaluate(() => [...document.querySelector(".pane .editor").shadowRoot.querySelectorAll(".cm-tooltip-autocomplete li .cm-completionLabel")].map((l) => l.innerText));
  await p.keyboard.press("Escape");
  return labels;
}

await p.goto(link, { waitUntil: "domcontentloaded" });
await p.goto(base + "/console", { waitUntil: "domcontentloaded" });
await has("collection({ pageSize: 5 })");
await write("SDK.Entities.Todo.count();");
await p.select("select[aria-label=Language]", "python");
await has("collection(page_size=5)");
await chord("Control", "Enter");
await says("dry run", ".state");
await says("Answer");

// Names below SDK, in Python's spelling.
check((await offered("SDK.")).includes("Entities"), "SDK has Entities");
check((await offered("SDK.Entities.T")).includes("Todo"), "entities");
const methods = await offered("rows = SDK.Entities.Todo.");
for (const name of ["collection", "find_by_id", "upsert_many", "update_by_query"]) check(methods.includes(name), name + " is among " + methods);
check((await offered("SDK.Actions.g")).includes("greet"), "actions");

// What validate finds stands in the text.
await write("SDK.Entities.Tudo.count()");
await p.waitForFunction(() => [...(document.querySelector(".pane .editor")?.shadowRoot?.querySelectorAll(".cm-lintRange-error") || [])].some((m) => m.innerText.includes("SDK.Entities.Tudo")), polling);

// It runs, and is Python again from its link and after a reload; the other script is kept.
await write('SDK.Entities.Todo.create({"title": "from python"})\nSDK.Out.answer(f"{SDK.Entities.Todo.count()} todos")');
await chord("Control", "Shift", "Enter");
await says("committed", ".state");
const run = await p.$eval(".state a", (a) => a.href);
await p.reload();
await has("from python");
check((await p.$eval("select[aria-label=Language]", (s) => s.value)) === "python", "the language is kept");
await p.select("select[aria-label=Language]", "javascript");
await has("SDK.Entities.Todo.count();");
// A run brings its language along, whichever one was written in before, and so does a run in another one.
const language = (its) => p.waitForFunction((l) => document.querySelector("select[aria-label=Language]")?.value === l, polling, its);
await (await within(".cm-content")).click();
await chord("Control", "Shift", "Enter");
await says("committed", ".state");
const other = await p.$eval(".state a", (a) => a.href);
for (const [id, its, text] of [[run, "python", "from python"], [other, "javascript", "SDK.Entities.Todo.count();"]]) {
  await p.goto(base + "/console?run=" + id.split("/").at(-1), { waitUntil: "domcontentloaded" });
  await has(text);
  await language(its);
}
await p.goto(base + "/console/runs/" + run.split("/").at(-1), { waitUntil: "domcontentloaded" });
await p.waitForFunction(() => [...document.querySelectorAll(".editor.read")].some((e) => e.shadowRoot?.querySelector(".cm-line")?.innerText.includes("from python")), polling);
await p.goto(base + "/console#python=" + Buffer.from("result = 6 * 7").toString("base64url"), { waitUntil: "domcontentloaded" });
await has("result = 6 * 7");
await (await within(".cm-content")).click();
await chord("Control", "Enter");
await says("42");
await p.select("select[aria-label=Examples]", "1");
await has('SDK.Out.answer({');
if (wrong.length) throw new Error("errors of the page: " + wrong);
await browser.close();
process.exit();

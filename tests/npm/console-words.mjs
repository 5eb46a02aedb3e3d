// A person works with fields and inputs that are called like members of JavaScript's own objects and like
// keywords, and with an entity whose rows can be created only, in Chromium.
//
//   node console-words.mjs LINK words|created
import puppeteer from "puppeteer-core";

const [link, story] = process.argv.slice(2);
const base = new URL(link).origin;
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"] });

function same(is, want, what) {
  if (JSON.stringify(is) !== JSON.stringify(want)) throw new Error(`${what}: ${JSON.stringify(is)}, want ${JSON.stringify(want)}`);
}
async function call(method, path, body) {
  const r = await fetch(base + path, { method, headers: { "Content-Type": method === "PATCH" ? "application/merge-patch+json" : "application/json" }, body: body && JSON.stringify(body) });
  return r.json();
}

const p = await browser.newPage();
const wrong = [];
p.on("pageerror", (e) => wrong.push(e.message));
p.setDefaultTimeout(30_000);
const open = (path) => p.goto(base + "/console" + path, { waitUntil: "domcontentloaded" });
const shows = (text) => p.waitForFunction((t) => document.querySelector("main")?.innerText.includes(t), { polling: 50 }, text);
const press = async (text) => {
  const found = await p.waitForFunction((t) => [...document.querySelectorAll("main button, main a.button")].find((b) => b.innerText.trim().startsWith(t) && !b.disabled), { polling: 50 }, text);
  await found.asElement().click();
};
// fill puts texts into the inputs with these labels, as typing would.
const fill = async (values) => {
  await p.waitForFunction((names) => names.every((n) => [...document.querySelectorAll("main form label")].some((l) => l.innerText.replace(" needed", "") === n)), { polling: 50 }, Object.keys(values));
  await p.evaluate(async (values) => {
    const labels = [...document.querySelectorAll("main form label")];
    for (const [name, text] of values) {
      const input = document.getElementById(labels.find((l) => l.innerText.replace(" needed", "") === name).htmlFor);
      input.value = text;
      for (const event of ["input", "change", "blur"]) input.dispatchEvent(new Event(event, { bubbles: true }));
      await new Promise((done) => setTimeout(done));
    }
  }, Object.entries(values));
};
const held = () => p.evaluate(() => [...document.querySelectorAll("main form .field")].map((f) => [f.querySelector("label, .label")?.innerText, f.querySelector("input, textarea, select")?.value ?? f.innerText]));

// texts are what a person types into each field, and values what the row has then.
const typed = {
  first: { string: ["one", "one"], text: ["one", "one"], int: ["7", 7], bool: ["true", true], json: ['{"constructor": 1}', { constructor: 1 }] },
  second: { string: ["two", "two"], text: ["two", "two"], int: ["8", 8], bool: ["false", false], json: ['{"constructor": 2}', { constructor: 2 }] },
};
const kept = (fields, which, i) => Object.fromEntries(fields.map((f) => [f.name, typed[which][f.type][i]]));
const picked = (row, fields) => Object.fromEntries(fields.map((f) => [f.name, row[f.name]]));

async function words() {
  await open("/entities/Word/+new");
  await shows("New Word");
  const overview = await p.evaluate(() => fetch("/api/console/overview", { headers: { "Koan-Console": "1" } }).then((r) => r.json()));
  const word = overview.entities.find((e) => e.name === "Word");
  const fields = word.fields.filter((f) => f.name !== word.key && !f.edge && typed.first[f.type]);
  for (const name of ["constructor", "toString", "valueOf", "hasOwnProperty", "length", "name", "type", "default"]) {
    if (!fields.some((f) => f.name === name)) throw new Error("there is no field " + name);
  }
  await p.waitForSelector("main form .field");
  for (const [name, value] of await held()) if (/function|native|object/.test(value)) throw new Error(`${name} is not empty: ${value}`);
  await fill(kept(fields, "first", 0));
  await press("Create");
  await p.waitForFunction(() => !location.pathname.endsWith("+new"), { polling: 50 });
  const id = new URL(p.url()).pathname.split("/").at(-1);
  same(picked(await call("GET", "/api/word/" + id), fields), kept(fields, "first", 1), "what was created");

  await open("/entities/Word/" + id);
  await fill(kept(fields, "second", 0));
  await press("Save");
  await p.waitForFunction(() => document.body.innerText.includes("Saved."), { polling: 50 });
  same(picked(await call("GET", "/api/word/" + id), fields), kept(fields, "second", 1), "what was saved");

  // Somebody else changes the row: what is shown of it has only what the two have written.
  const [other, own] = ["constructor", "length"].map((n) => fields.find((f) => f.name === n));
  await call("PATCH", "/api/word/" + id, { [other.name]: typed.first[other.type][1] });
  await fill({ [own.name]: typed.first[own.type][0] });
  await press("Save");
  await shows("Somebody else has changed");
  same(await p.$$eval("table.both tbody tr", (rows) => rows.map((r) => [r.cells[0].innerText, r.cells[2].innerText === "not changed"]).sort()), [["constructor", true], ["length", false]], "the conflict");
  await press("Take theirs");

  for (const f of fields.filter((f) => ["constructor", "toString", "valueOf", "hasOwnProperty", "length"].includes(f.name) && f.operators.includes("$eq") && f.type !== "json")) {
    await open("/entities/Word");
    await p.waitForSelector("select[aria-label=Field]");
    await p.select("select[aria-label=Field]", f.name);
    const [value] = typed[f === other ? "first" : "second"][f.type];
    const choice = await p.$("select[aria-label=Value]");
    const comparison = await p.$$eval("select[aria-label=Comparison] option", (all) => all.map((o) => o.value).find((v) => v === "$eq" || v === "$icontains"));
    await p.select("select[aria-label=Comparison]", comparison);
    if (choice) await p.select("select[aria-label=Value]", value);
    else await p.type("input[aria-label=Value]", value);
    await press("Filter");
    await p.waitForFunction((name, op) => new URL(location).searchParams.get("filter")?.startsWith(`{"${name}":{"${op}"`), { polling: 50 }, f.name, comparison);
    await shows("1 row");
  }

  await open("/actions/action::mirror");
  await shows("Not run yet");
  for (const [name, value] of await held()) same(value, "", "the empty input " + name);
  await fill({ constructor: "c", toString: "t", length: "l", ["__proto__"]: "p" });
  await press("Run");
  await shows("Open the run");
  same(JSON.parse(await p.$eval("pre.json", (e) => e.innerText)).got.split(" "), ["c", "t", "l", "p"], "what the action got");
}

async function created() {
  await open("/entities/Label");
  await press("New Label");
  await shows("New Label");
  await fill({ name: "made here" });
  await press("Create");
  await p.waitForFunction(() => !location.pathname.endsWith("+new"), { polling: 50 });
  await shows("You may read this row, and not change it.");
  same((await call("GET", "/api/label")).items.map((l) => l.name), ["made here"], "what was created");
}

try {
  await p.goto(link);
  await p.waitForSelector("main");
  await { words, created }[story]();
  if (wrong.length) throw new Error(wrong.join("\n"));
} catch (e) {
  console.error(e.stack, wrong.join("\n"), p.url(), await p.evaluate(() => document.body.innerText.slice(0, 500)));
  process.exitCode = 1;
}
await browser.close();

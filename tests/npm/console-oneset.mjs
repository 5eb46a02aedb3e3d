// Somebody whose token has one set alone looks at its rows, in Chromium, and sees what others change.
//
//   node console-oneset.mjs BASE TOKEN
import puppeteer from "puppeteer-core";

const [base, token] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"] });
const write = (id, title) => fetch(`${base}/api/event/${id}`, { method: "PUT", headers: { Authorization: "Bearer " + token, "Content-Type": "application/json" }, body: JSON.stringify({ title }) }).then((r) => r.status);
try {
  const p = await browser.newPage();
  const wrong = [];
  p.on("pageerror", (e) => wrong.push(e.message));
  p.on("console", (m) => ["error", "warn", "warning"].includes(m.type()) && wrong.push(m.text()));
  p.setDefaultTimeout(20_000);
  if ((await write("one", "as it was")) >= 300) throw new Error("the row is not written");
  await p.goto(base + "/console");
  const status = await p.evaluate((token) => fetch("/console/session", { method: "POST", headers: { "Koan-Console": "1", "Content-Type": "application/json" }, body: JSON.stringify({ token }) }).then((r) => r.status), token);
  if (status !== 204) throw new Error("sign-in: " + status);
  wrong.length = 0; // without a session it has been refused what it asks for
  const stream = p.waitForResponse((r) => r.url().includes("/api/events"));
  await p.goto(base + "/console/entities/Event");
  const shows = (text) => p.waitForFunction((t) => document.querySelector("main")?.innerText.includes(t), { polling: 50 }, text);
  await shows("as it was");
  if ((await p.$eval("main label input[list]", (i) => i.placeholder)) !== "branch-a") throw new Error("the grid names another set as that of calls that name none");
  if ((await stream).status() !== 200) throw new Error("the stream of changes: " + (await stream).status() + " " + (await stream).url());
  await write("one", "as others have changed it");
  await shows("as others have changed it");
  if (wrong.length) throw new Error(wrong.join("\n"));
} catch (e) {
  const p = (await browser.pages()).at(-1);
  console.error(e.stack, p?.url(), await p?.evaluate(() => document.body.innerText.slice(0, 500)));
  process.exitCode = 1;
}
await browser.close();

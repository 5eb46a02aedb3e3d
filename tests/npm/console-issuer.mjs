// A person signs in to a console at the issuer, in Chromium, with a link into the console.
//
//   node console-issuer.mjs BASE
import puppeteer from "puppeteer-core";

const [base] = process.argv.slice(2);
const browser = await puppeteer.launch({ executablePath: process.env.CHROMIUM || "/usr/bin/chromium", headless: true, args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run"] });
try {
  const p = await browser.newPage();
  const wrong = [];
  p.on("pageerror", (e) => wrong.push(e.message));
  p.setDefaultTimeout(20_000);
  await p.goto(base + "/console/runs?q=todo");
  await (await p.waitForSelector('a[href^="/console/sign-in/issuer"]')).click();
  await (await p.waitForSelector('input[name="login"]')).type("ann");
  await p.type('input[name="password"]', "any");
  await p.keyboard.press("Enter");
  await p.waitForFunction(() => !document.querySelector('input[name="login"]') && document.querySelector('button[type="submit"]'));
  await p.click('button[type="submit"]');
  await p.waitForFunction((to) => location.href === to && document.querySelector("main#main h1"), {}, base + "/console/runs?q=todo");
  await p.goto(base + "/console"); // and once more from outside
  await p.waitForSelector("main#main");
  const cookies = (await browser.cookies()).filter((c) => c.name.startsWith("koan-console"));
  if (cookies.length !== 1 || !cookies[0].httpOnly || cookies[0].sameSite !== "Strict") throw new Error("cookies: " + JSON.stringify(cookies));
  if (await p.evaluate(() => document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)).then((s) => /eyJ/.test(s))) throw new Error("the page has a token");
  if (wrong.length) throw new Error(wrong.join("\n"));
} catch (e) {
  const [, p] = await browser.pages();
  console.error(e.stack, p?.url(), await p?.evaluate(() => document.body.innerText.slice(0, 500)));
  process.exitCode = 1;
}
await browser.close();

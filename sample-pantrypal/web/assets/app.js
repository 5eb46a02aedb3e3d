// What pages do beyond links and forms: follow changes, read a photo at once, drag a meal.
"use strict";

const main = document.getElementById("main");

// The texts of this page's language.
const texts = JSON.parse(document.body.dataset.texts);

// say is a text with what belongs at {1}, {2} and so on.
function say(key, ...args) {
  const text = texts[key], form = typeof text === "string" ? text : (text[new Intl.PluralRules(document.documentElement.lang).select(Number(args[0]))] ?? text.other);
  return form.replace(/\{(\d)\}/g, (_, n) => args[n - 1]);
}

// A finger is on the page.
let pressed = false;

// busy reports whether somebody is in the middle of something that a new page would take away.
function busy() {
  if (pressed) return true;
  const at = document.activeElement;
  if (at && main.contains(at) && at.matches("input, select, textarea")) return true;
  if (document.querySelector("dialog[open]") || document.querySelector(".dragging")) return true;
  return [...main.querySelectorAll("input:not([type=hidden]), textarea")].some((i) => (i.type === "file" ? i.files.length > 0 : i.value !== i.defaultValue));
}

// served is a page as the server rendered it, without what differs each time or belongs to the
// reader: forms' keys, and what is open.
function served(page) {
  const copy = page.cloneNode(true);
  for (const key of copy.querySelectorAll("[name=key]")) key.removeAttribute("value");
  for (const d of copy.querySelectorAll("details[open]")) d.removeAttribute("open");
  return copy.innerHTML;
}

// What this page shows of the server; "" lets the next refresh take over everything.
let shown = served(main);

// nameOf is what an element is known by from one rendering to the next.
const nameOf = (n) => (n.nodeType === Node.ELEMENT_NODE ? n.id || n.dataset.item || n.dataset.meal || "" : "");

// The page's own marks on elements, which a rendering does not know.
const own = new Set(["open", "data-sent"]);

// patch makes an element the same as another one. Elements that both have stay the same objects:
// a tap, the focus and what was opened are not lost with them.
function patch(old, next) {
  for (const a of [...old.attributes]) if (!next.hasAttribute(a.name) && !own.has(a.name)) old.removeAttribute(a.name);
  for (const a of next.attributes) if (old.getAttribute(a.name) !== a.value) old.setAttribute(a.name, a.value);
  const wanted = new Set([...next.childNodes].map(nameOf)), named = new Map();
  for (const n of [...old.childNodes]) {
    const name = nameOf(n);
    if (name && !wanted.has(name)) n.remove();
    else if (name) named.set(name, n);
  }
  let at = old.firstChild;
  for (const want of [...next.childNodes]) {
    const name = nameOf(want), have = name ? named.get(name) : at && !nameOf(at) ? at : null;
    if (have?.nodeName !== want.nodeName) {
      old.insertBefore(want, at);
      continue;
    }
    if (have === at) at = at.nextSibling;
    else old.insertBefore(have, at);
    if (have.nodeType === Node.ELEMENT_NODE) patch(have, want);
    else if (have.data !== want.data) have.data = want.data;
  }
  while (at) {
    const rest = at.nextSibling;
    at.remove();
    at = rest;
  }
}

let waiting = null, again = false;

// When the page was asked for that is shown: what happened here later is not on it.
let asOf = 0;

// refresh takes over the page as it is now. What a form failed for stays until it is read: at the
// same address is the page on which the form was.
async function refresh() {
  if (main.querySelector("[data-fault]")) return;
  if (waiting || busy() || document.hidden) {
    again = true;
    return;
  }
  waiting = (async () => {
    try {
      const at = new URL(location.href);
      for (const name of ["did", "run"]) at.searchParams.delete(name);
      const kept = typeof keptRows === "function" ? keptRows() : "";
      if (kept) at.searchParams.set("keep", kept);
      const list = document.getElementById("list")?.dataset.list; // it stays the same one when somebody makes another
      if (list) at.searchParams.set("list", list);
      const began = performance.now();
      const r = await fetch(at, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (!r.ok) return;
      const next = new DOMParser().parseFromString(await r.text(), "text/html").getElementById("main"), now = served(next);
      if (now === shown) {
        asOf = began;
        return;
      }
      if (busy()) {
        again = true;
        return;
      }
      for (const key of next.querySelectorAll("[name=key]")) key.setAttribute("value", crypto.randomUUID());
      patch(main, next);
      [shown, asOf] = [now, began];
      dispatchEvent(new Event("pantrypal:shown"));
    } catch { /* without a network the page stays as it is */ }
  })();
  await waiting;
  waiting = null;
  if (again && !busy() && !document.hidden) {
    again = false;
    soon();
  }
}

let timer = 0;
function soon() {
  clearTimeout(timer);
  timer = setTimeout(refresh, 120);
}

let changes = null, asking = 0;

// follow hears of changes as they are committed; where there is no stream it asks.
function follow() {
  if (changes) return;
  const from = changes = new EventSource("/api/events?set=default");
  from.addEventListener("change", soon);
  from.addEventListener("open", () => { clearInterval(asking); asking = 0; soon(); });
  from.addEventListener("error", () => {
    if (from === changes && from.readyState === EventSource.CLOSED) asking ||= setInterval(refresh, 5000);
  });
}

// unfollow lets the connection go: a browser has six of them to a site, and pages in the back need none.
function unfollow() {
  changes?.close();
  clearInterval(asking);
  changes = null;
  asking = 0;
}
follow();
addEventListener("pagehide", unfollow);
addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
document.addEventListener("visibilitychange", () => {
  if (document.hidden) return unfollow();
  follow();
  soon();
});
main.addEventListener("focusout", () => { if (again) setTimeout(refresh, 300); });

// Nothing moves under a finger: what changed meanwhile is shown when it is lifted.
document.addEventListener("pointerdown", () => { pressed = true; }, true);
for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => {
  pressed = false;
  if (again) soon();
}, true);

// The address says what a form did until the page is left; loading it again must not say it again.
if (new URL(location.href).searchParams.has("did")) {
  const at = new URL(location.href);
  for (const name of ["did", "run"]) at.searchParams.delete(name);
  history.replaceState(null, "", at);
}

// A form is sent once, however often it is tapped.
document.addEventListener("submit", (e) => {
  if (e.defaultPrevented) return;
  const form = e.target;
  if (form.dataset.sent) return e.preventDefault();
  form.dataset.sent = "1";
  addEventListener("pageshow", () => delete form.dataset.sent, { once: true });
  const reading = form.querySelector("#reading");
  if (reading) reading.textContent = say("reading");
});

// A photo is read as soon as it is taken or chosen; the button is for where there is no script.
const take = document.getElementById("take");
if (take) {
  document.getElementById("read").hidden = true;
  take.addEventListener("change", (e) => { if (e.target.files?.length) take.requestSubmit(); });
}

// A meal is dragged to another day; the form beside it does the same without a mouse.
document.addEventListener("dragstart", (e) => {
  const meal = e.target.closest?.("[data-meal]");
  if (!meal) return;
  e.dataTransfer.setData("text/plain", meal.dataset.meal);
  meal.classList.add("dragging");
});
document.addEventListener("dragend", () => {
  for (const c of ["dragging", "over"]) document.querySelectorAll("." + c).forEach((n) => n.classList.remove(c));
});
document.addEventListener("dragover", (e) => {
  const day = e.target.closest?.(".day:not(.past)");
  if (!day || !document.querySelector(".dragging")) return;
  e.preventDefault();
  document.querySelectorAll(".over").forEach((n) => n.classList.toggle("over", n === day));
  day.classList.add("over");
});
document.addEventListener("drop", (e) => {
  const day = e.target.closest?.(".day:not(.past)");
  const form = document.querySelector(`[data-meal="${CSS.escape(e.dataTransfer.getData("text/plain"))}"] form.move`);
  if (!day || !form) return;
  e.preventDefault();
  form.elements.to.value = day.dataset.date;
  if (form.elements.to.value === day.dataset.date) form.requestSubmit();
});

// toast says something, with the undo of a run if there is one; or with another form that takes it
// back.
function toast(text, run, undo) {
  const box = document.createElement("div");
  box.className = "toast";
  const said = document.createElement("span");
  said.textContent = text;
  box.append(said);
  if (run) {
    const form = document.createElement("form");
    form.method = "post";
    form.action = undo?.action ?? `/activity/${encodeURIComponent(run)}/undo`;
    const fields = { back: location.pathname + location.search, now: "1", key: crypto.randomUUID(), ...undo?.fields };
    for (const [name, value] of Object.entries(fields)) {
      const input = document.createElement("input");
      Object.assign(input, { type: "hidden", name, value });
      form.append(input);
    }
    const button = document.createElement("button");
    button.textContent = say("undo");
    form.append(button);
    if (undo?.submit) form.addEventListener("submit", undo.submit);
    box.append(form);
  }
  document.getElementById("toast").replaceChildren(box);
}

if ("serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => { /* pages work without it */ });

// What pages do beyond links and forms: follow changes, show a photo at once, drag a meal, cook.
"use strict";

const main = document.getElementById("main");

// busy reports whether somebody is in the middle of something that a new page would take away.
function busy() {
  const at = document.activeElement;
  if (at && main.contains(at) && at.matches("input, select, textarea")) return true;
  if (document.body.classList.contains("cooking") || document.querySelector(".dragging")) return true;
  return [...main.querySelectorAll("input:not([type=hidden]), textarea")].some((i) => (i.type === "file" ? i.files.length > 0 : i.value !== i.defaultValue));
}

let waiting = null, again = false;

// refresh takes over the page as it is now. What was opened stays open.
async function refresh() {
  if (waiting) {
    again = true;
    return;
  }
  if (busy() || document.hidden) {
    again = true;
    return;
  }
  waiting = (async () => {
    try {
      const at = new URL(location.href);
      for (const name of ["did", "run"]) at.searchParams.delete(name);
      const r = await fetch(at, { headers: { Accept: "text/html" }, cache: "no-store" });
      if (!r.ok) return;
      const next = new DOMParser().parseFromString(await r.text(), "text/html").getElementById("main");
      for (const key of next.querySelectorAll("[name=key]")) key.removeAttribute("value");
      const now = main.cloneNode(true);
      for (const key of now.querySelectorAll("[name=key]")) key.removeAttribute("value");
      for (const d of now.querySelectorAll("details[open]")) d.open = next.querySelector("#" + CSS.escape(d.id || "-"))?.open ?? false;
      if (busy() || now.innerHTML === next.innerHTML) return;
      const open = [...main.querySelectorAll("details[open][id]")].map((d) => d.id);
      const focus = document.activeElement?.closest?.("[data-item]")?.dataset.item;
      for (const key of next.querySelectorAll("[name=key]")) key.value = crypto.randomUUID();
      main.replaceChildren(...next.childNodes);
      for (const id of open) document.getElementById(id)?.setAttribute("open", "");
      if (focus) main.querySelector(`[data-item="${CSS.escape(focus)}"] button`)?.focus();
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

// follow hears of changes as they are committed; where there is no stream it asks.
function follow() {
  let asking = 0;
  const ask = () => { asking ||= setInterval(refresh, 5000); };
  const changes = new EventSource("/api/events?set=default");
  changes.addEventListener("change", soon);
  changes.addEventListener("open", () => { clearInterval(asking); asking = 0; soon(); });
  changes.addEventListener("error", () => { if (changes.readyState === EventSource.CLOSED) ask(); });
  addEventListener("pagehide", () => changes.close());
  addEventListener("pageshow", (e) => { if (e.persisted) location.reload(); });
}
follow();
document.addEventListener("visibilitychange", () => { if (!document.hidden) soon(); });
main.addEventListener("focusout", () => { if (again) setTimeout(refresh, 300); });

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
  if (reading) reading.textContent = "Reading the photo …";
});

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

// Cook mode: large steps, one after the other, and the screen stays on.
function cookMode() {
  const bar = document.getElementById("cook-mode"), steps = [...document.querySelectorAll(".steps li")];
  if (!bar || !steps.length) return;
  bar.hidden = false;
  let lock = null;
  const button = document.getElementById("cook-start");
  const step = (n) => {
    steps.forEach((s, i) => s.classList.toggle("at", i === n));
    steps[n]?.scrollIntoView({ block: "center" });
  };
  const awake = async () => { try { lock = await navigator.wakeLock?.request("screen"); } catch { /* the screen may go dark */ } };
  button.addEventListener("click", async () => {
    const on = document.body.classList.toggle("cooking");
    button.textContent = on ? "Leave cook mode" : "Cook mode";
    if (on) {
      step(0);
      await awake();
    } else {
      steps.forEach((s) => s.classList.remove("at"));
      await lock?.release();
    }
  });
  steps.forEach((s, n) => s.addEventListener("click", () => document.body.classList.contains("cooking") && step(n)));
  document.addEventListener("visibilitychange", () => { if (!document.hidden && document.body.classList.contains("cooking")) awake(); });
}
cookMode();

// toast says something, with the undo of a run if there is one.
function toast(text, run) {
  const box = document.createElement("div");
  box.className = "toast";
  const said = document.createElement("span");
  said.textContent = text;
  box.append(said);
  if (run) {
    const form = document.createElement("form");
    form.method = "post";
    form.action = `/activity/${encodeURIComponent(run)}/undo`;
    const back = document.createElement("input");
    back.type = "hidden";
    back.name = "back";
    back.value = location.pathname;
    const button = document.createElement("button");
    button.textContent = "Undo";
    const key = document.createElement("input");
    key.type = "hidden";
    key.name = "key";
    key.value = crypto.randomUUID();
    const now = document.createElement("input");
    now.type = "hidden";
    now.name = "now";
    now.value = "1";
    form.append(back, now, key, button);
    box.append(form);
  }
  document.getElementById("toast").replaceChildren(box);
}

if ("serviceWorker" in navigator) navigator.serviceWorker.register("/sw.js").catch(() => { /* pages work without it */ });

// The list in a shop: ticked, put back and added at once, and sent when there is a network, also an
// hour later. What is done has a key, so that what was sent and not answered is not done twice.
"use strict";

const shelf = "pantrypal.ticks";
const ticks = () => JSON.parse(localStorage.getItem(shelf) ?? "[]");
const keep = (list) => localStorage.setItem(shelf, JSON.stringify(list));
const rowOf = (item) => main.querySelector(`[data-item="${CSS.escape(item)}"]`);

// What was ticked since the page was opened stays where it is, under the thumb.
const here = new Set();
const keptRows = () => [...here].join(",");

// What was done to rows here, and when the server had it: until a page was asked for after that, a
// page that arrives is an older one.
const done = new Map();

// money writes a sum as the page does.
function money(sum, as) {
  return as.dataset.pattern.replace("{1}", sum.toFixed(2).replace(".", say("decimal")));
}

// count says what is left to buy and what it costs, by the rows as they are shown.
function count() {
  const left = [...main.querySelectorAll(".checks [data-item]:not(.ticked)")], cost = document.getElementById("cost");
  if (!cost) return;
  document.getElementById("left").textContent = left.length;
  const sum = left.reduce((s, row) => s + Number(row.dataset.cost ?? 0), 0);
  cost.textContent = money(sum, cost);
  document.getElementById("about").hidden = !sum;
}

// mark shows what is done here but not sent yet.
function mark() {
  const open = ticks(), list = document.getElementById("list")?.dataset.list ?? "";
  for (const t of open) {
    if (t.kind === "add") {
      if (!t.list || t.list === list) showAdded(t);
    } else rowOf(t.item)?.classList.toggle("ticked", t.kind !== "back");
  }
  for (const [item, { ticked, at }] of done) {
    if (at < asOf) done.delete(item);
    else if (!open.some((t) => t.item === item)) rowOf(item)?.classList.toggle("ticked", ticked);
  }
  for (const row of main.querySelectorAll("li.waiting")) {
    const t = open.find((o) => o.kind === "add" && o.key === row.dataset.item);
    if (t) row.classList.toggle("ticked", Boolean(t.bought));
    else row.remove();
  }
  count();
  const net = document.getElementById("net");
  if (!net) return;
  net.hidden = !open.length && navigator.onLine;
  const added = open.filter((t) => t.kind === "add"), ticked = open.filter((t) => t.kind !== "add"), said = [];
  if (ticked.length) said.push(say("tickedWaits", ticked.length, ticked.map((t) => t.name).join(", ")));
  if (added.length) said.push(say("addedWaits", added.length, added.map((t) => t.name).join(", ")));
  net.textContent = said.join(". ") || say("offline");
}

// showAdded shows what was added here, before the server knows of it.
function showAdded(t) {
  if (rowOf(t.key)) return;
  let rows = document.getElementById("added");
  if (!rows) {
    rows = document.createElement("ul");
    rows.id = "added";
    rows.className = "list checks";
    document.getElementById("list")?.prepend(rows);
  }
  const row = document.createElement("li");
  row.className = "waiting";
  row.dataset.item = t.key;
  const form = document.createElement("form"), button = document.createElement("button"), box = document.createElement("span"), line = document.createElement("span"), name = document.createElement("span"), much = document.createElement("span");
  form.className = "check";
  box.className = "box";
  line.className = "line";
  name.className = "name";
  name.textContent = t.name;
  much.className = "quiet";
  much.textContent = t.unit === "piece" ? t.amount : `${t.amount} ${t.unit}`;
  line.append(name, much);
  button.append(box, line);
  form.append(button);
  row.append(form);
  rows.append(row);
}

main.addEventListener("submit", (e) => {
  const form = e.target;
  if (form.matches("form.check")) {
    e.preventDefault();
    tick(form);
  } else if (form.id === "add") {
    e.preventDefault();
    add(form);
  } else return;
  mark();
  send();
});

// tick ticks a row, or takes its tick back.
function tick(form) {
  const row = form.closest("[data-item]"), data = new FormData(form), list = ticks(), id = row.dataset.item;
  const fresh = list.find((t) => t.kind === "add" && t.key === id), waits = list.findIndex((t) => t.kind !== "add" && t.item === id);
  if (fresh) {
    fresh.bought = !fresh.bought;
    return keep(list);
  }
  if (waits >= 0 && !sending.has(list[waits].key)) { // nobody knows of it yet
    const [t] = list.splice(waits, 1);
    row.classList.toggle("ticked", t.kind === "back");
    return keep(list);
  }
  const back = row.classList.contains("ticked");
  here.add(id);
  list.push({
    kind: back ? "back" : "check", item: id, list: data.get("list") ?? data.get("listId"), key: back || row.dataset.again ? crypto.randomUUID() : data.get("key"),
    name: row.querySelector(".name").textContent, amount: data.get("amount") ?? "", unit: data.get("unit") ?? "",
  });
  row.dataset.again = "1"; // the next tick is another one
  row.classList.toggle("ticked", !back);
  keep(list);
}

// add puts something onto the list, and leaves the form for the next thing.
function add(form) {
  const data = new FormData(form), name = data.get("name").trim();
  if (!name) return;
  form.querySelector("[data-fault]")?.remove();
  keep([...ticks(), { kind: "add", name, amount: data.get("amount"), unit: data.get("unit"), list: data.get("list"), key: crypto.randomUUID() }]);
  form.reset();
  form.elements.name.focus();
}

// What is on its way: whether it arrived is not known.
const sending = new Set();

// post sends one thing that was done.
function post(t) {
  const to = { add: "/shopping", back: "/shopping/back", check: "/shopping/check" }[t.kind ?? "check"];
  const fields = t.kind === "add" ? { name: t.name, amount: t.amount, unit: t.unit, list: t.list ?? "" } : { item: t.item, list: t.list ?? "", listId: t.list ?? "", name: t.name, amount: t.amount ?? "", unit: t.unit ?? "" };
  return fetch(to, { method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams({ ...fields, key: t.key }) });
}

// send sends what was done, one after the other, in one tab at a time.
function send() {
  return navigator.locks.request(shelf, async () => {
    let last = null, sent = false;
    const said = [];
    for (let t; (t = ticks()[0]);) {
      let r, out;
      sending.add(t.key);
      try {
        r = await post(t);
        out = await r.json();
      } catch {
        break; // no network: it waits
      }
      if (!r.ok && (r.status >= 500 || r.status === 429 || r.status === 401)) break; // later
      sending.delete(t.key);
      const now = ticks(), found = t.kind === "add" && now.find((o) => o.key === t.key)?.bought, rest = now.filter((o) => o.key !== t.key);
      if (r.ok && found) {
        rest.push({ kind: "check", item: out.itemId, list: t.list, key: crypto.randomUUID(), name: t.name, amount: t.amount, unit: t.unit });
        here.add(out.itemId);
      }
      if (r.ok && t.item) done.set(t.item, { ticked: t.kind !== "back", at: performance.now() });
      keep(rest);
      sent = true;
      if (!r.ok) {
        if (t.kind === "add") wrong(t, out);
        else said.push(say("refused", t.name, out.message ?? out.detail ?? say("gone")));
      } else if (t.kind === "add") last = { text: say("onList", t.name), run: null };
      else if (t.kind === "back") last = { text: say("isBack", t.name), run: null };
      else if (out.gone) said.push(say("wasOff", t.name));
      else if (out.already.length) said.push(say("already", t.name));
      else last = { text: say("bought", t.name), run: out.run, tick: t };
    }
    mark();
    if (said.length) toast(said.join(". "));
    else if (last) toast(last.text, last.run, last.tick && takeBack(last.tick));
    if (sent) {
      shown = ""; // rows may be other ones now
      refresh();
    }
  });
}

// takeBack is the undo of a tick: it puts the thing back, which needs nobody's approval.
function takeBack(t) {
  return {
    action: "/shopping/back", fields: { item: t.item, listId: t.list },
    submit(e) {
      const form = rowOf(t.item)?.querySelector("form.check");
      if (!form) return; // the page that follows shows it
      e.preventDefault();
      rowOf(t.item).classList.add("ticked");
      tick(form);
      mark();
      send();
    },
  };
}

// wrong says above the form what could not be added, and puts it back into the form.
function wrong(t, out) {
  const form = document.getElementById("add"), box = document.createElement("div");
  form.querySelector("[data-fault]")?.remove();
  box.className = "notice wrong";
  box.setAttribute("role", "alert");
  box.dataset.fault = "";
  box.textContent = say("refused", t.name, out.message ?? out.detail ?? say("notAdded"));
  for (const name of ["name", "amount", "unit"]) form.elements[name].value = t[name];
  document.getElementById("add-more").open = true;
  form.prepend(box);
}

addEventListener("online", () => { mark(); send(); });
addEventListener("offline", mark);
addEventListener("pantrypal:shown", mark);
document.addEventListener("visibilitychange", () => { if (!document.hidden) send(); });
setInterval(() => { if (ticks().length) send(); }, 10000);
mark();
send();

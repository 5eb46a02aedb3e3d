// The list in a shop: ticked at once, and sent when there is a network, also an hour later. Each tick
// has a key, so that one whose answer was lost is not made twice.
"use strict";

const shelf = "pantrypal.ticks";
const ticks = () => JSON.parse(localStorage.getItem(shelf) ?? "[]");
const keep = (list) => localStorage.setItem(shelf, JSON.stringify(list));

// mark shows what is ticked but not sent yet.
function mark() {
  const open = ticks();
  for (const t of open) main.querySelector(`[data-item="${CSS.escape(t.item)}"]`)?.classList.add("ticked");
  const net = document.getElementById("net");
  if (!net) return;
  net.hidden = !open.length && navigator.onLine;
  net.textContent = open.length ? `${open.length} ticked, not sent yet: ${open.map((t) => t.name).join(", ")}` : "There is no network. You can tick things; they are sent later.";
}

main.addEventListener("submit", (e) => {
  const form = e.target.closest("form.check");
  if (!form) return;
  e.preventDefault();
  const data = new FormData(form), item = data.get("item");
  const list = ticks();
  if (!list.some((t) => t.item === item)) {
    list.push({ item, list: data.get("list"), key: data.get("key"), name: form.querySelector(".name").textContent });
    keep(list);
  }
  mark();
  send();
});

// send sends what is ticked, one after the other, in one tab at a time.
function send() {
  return navigator.locks.request(shelf, async () => {
    let bought = null;
    const gone = [];
    for (let t; (t = ticks()[0]);) {
      let r, out;
      try {
        r = await fetch("/shopping/check", { method: "POST", headers: { Accept: "application/json" }, body: new URLSearchParams({ item: t.item, list: t.list, key: t.key }) });
        out = await r.json();
      } catch {
        break; // no network: it waits
      }
      if (!r.ok && (r.status >= 500 || r.status === 429 || r.status === 401)) break; // later
      keep(ticks().filter((o) => o.key !== t.key));
      if (!r.ok) gone.push(`${t.name}: ${out.message ?? out.detail ?? "not on the list any more"}`);
      else if (out.already.length) gone.push(`${t.name}: somebody had it already`);
      else bought = { name: t.name, run: out.run };
    }
    mark();
    if (gone.length) toast(gone.join(". "));
    else if (bought) toast(`${bought.name}: bought, and in the house.`, bought.run);
    if (gone.length || bought) {
      shown = ""; // it is not ticked any more, and may be on the list again
      refresh();
    }
  });
}

addEventListener("online", send);
addEventListener("offline", mark);
addEventListener("pantrypal:shown", mark);
document.addEventListener("visibilitychange", () => { if (!document.hidden) send(); });
setInterval(() => { if (ticks().length) send(); }, 10000);
mark();
send();

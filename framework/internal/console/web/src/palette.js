// The palette of commands: everything that has a path, and a few things to do.
import { html, signal, useEffect, useLayoutEffect, useRef, useSignal } from "./html.js";
import { overview, mayMake, signOut } from "./session.js";
import { go, url, mayLeave } from "./router.js";
import { toggle } from "./theme.js";

const shown = signal(false);
export const open = () => (shown.value = true);

addEventListener("popstate", () => (shown.value = false));
addEventListener("keydown", (e) => {
  if ((e.ctrlKey || e.metaKey) && !e.shiftKey && !e.altKey && e.key.toLowerCase() === "k" && overview.value) {
    e.preventDefault();
    shown.value = !shown.value;
  }
}, true);

function commands() {
  const o = overview.value;
  const to = (label, kind, path, query) => ({ label, kind, run: () => go(url(path, query)) });
  const out = [
    to("Playground", "view", "/"), to("Entities", "view", "/entities"), to("Runs", "view", "/runs"), to("Runs that failed", "view", "/runs", { outcome: "!ok" }),
    to("Runs that changed data", "view", "/runs", { changed: "true" }), to("Plans", "view", "/plans"), to("Actions", "view", "/actions"), to("Status", "view", "/status"),
  ];
  for (const e of o.entities) {
    out.push(to(e.name, "entity", "/entities/" + e.name));
    if (mayMake(e)) out.push(to("New " + e.name, "do", "/entities/" + e.name + "/+new"));
  }
  for (const a of [...o.actions, ...o.plugins]) out.push(to(a.title, "action", "/actions/" + a.id));
  out.push({ label: "Change the theme", kind: "do", run: toggle }, { label: "Sign out", kind: "do", run: signOut });
  return out;
}

// matches reports whether the letters of a text stand in a label in this order.
function matches(label, typed) {
  let at = 0;
  const text = label.toLowerCase();
  for (const c of typed.toLowerCase()) {
    if (c === " ") continue;
    at = text.indexOf(c, at) + 1;
    if (at === 0) return false;
  }
  return true;
}

// find returns what fits a text, what begins with it first.
function find(text) {
  const begins = (c) => Number(c.label.toLowerCase().startsWith(text.toLowerCase()));
  const found = commands().filter((c) => matches(c.label, text)).sort((a, b) => begins(b) - begins(a)).slice(0, 12);
  if (/^[0-9a-f]{8}-[0-9a-f-]{27}$/.test(text.trim())) found.unshift({ label: "Open the run " + text.trim(), kind: "run", run: () => go(url("/runs/" + text.trim())) });
  return found;
}

export function Palette() {
  const dialog = useRef(), typed = useSignal(""), at = useSignal(0);
  useEffect(() => {
    if (shown.value && !dialog.current.open) {
      typed.value = "";
      at.value = 0;
      dialog.current.showModal();
    } else if (!shown.value && dialog.current.open) dialog.current.close();
  });
  const is = shown.value;
  const text = typed.value;
  const found = is ? find(text) : [];
  useLayoutEffect(() => dialog.current.querySelector("[aria-selected=true]")?.scrollIntoView({ block: "nearest" }), [at.value]);
  const choose = (c) => {
    dialog.current.close(); // gives the focus back, which the view that opens is to have
    shown.value = false;
    if (c && mayLeave()) c.run();
  };
  const key = (e) => {
    if (e.key === "ArrowDown") at.value = Math.min(at.value + 1, found.length - 1);
    else if (e.key === "ArrowUp") at.value = Math.max(at.value - 1, 0);
    else if (e.key === "Enter") choose(find(e.target.value)[at.value]); // who types fast is ahead of what is shown
    else return;
    e.preventDefault();
  };
  return html`<dialog ref=${dialog} class="palette" aria-label="Find anything" onClose=${() => (shown.value = false)} onClick=${(e) => e.target === dialog.current && (shown.value = false)}>
    ${is && html`<input type="text" role="combobox" aria-label="Find a view, an entity, an action or a run" aria-expanded="true" aria-controls="found" aria-activedescendant=${found.length ? "found-" + at.value : undefined}
      placeholder="A view, an entity, an action, the id of a run" value=${text} onInput=${(e) => { typed.value = e.target.value; at.value = 0; }} onKeyDown=${key} autocomplete="off" />
    <ul id="found" role="listbox" aria-label="Found">
      ${found.map((c, i) => html`<li key=${c.label} id=${"found-" + i} role="option" aria-selected=${i === at.value} onClick=${() => choose(c)}><span>${c.label}</span><small>${c.kind}</small></li>`)}
      ${!found.length && html`<li role="option" aria-selected="false" aria-disabled="true"><span class="quiet">Nothing fits “${text}”.</span></li>`}
    </ul>`}
  </dialog>`;
}

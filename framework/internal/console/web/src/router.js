// Everything that the page shows has a path below /console, with what narrows it in the query.
import { signal, useEffect, useRef } from "./html.js";

const base = "/console";
const read = () => ({ path: location.pathname.slice(base.length).replace(/\/+$/, "") || "/", query: new URLSearchParams(location.search), hash: location.hash });
const address = () => location.pathname + location.search + location.hash;

export const route = signal(read());
let shown = address(); // what the address was before the browser went back or forward
const show = () => {
  shown = address();
  route.value = read();
};

export const url = (path, query) => {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) if (v !== undefined && v !== null && v !== "") q.set(k, v);
  const text = q.toString();
  return base + (path === "/" ? "" : path) + (text ? "?" + text : "");
};

// go shows another address; stay leaves the focus and what is in sight where they are.
export function go(to, { replace = false, stay = replace } = {}) {
  if (to !== address()) {
    history[replace ? "replaceState" : "pushState"](null, "", to);
    show();
    if (!stay) scrollTo(0, 0);
  }
  if (!stay) document.getElementById("main")?.focus({ preventScroll: true });
}

// narrow changes the query of the path that is shown.
export function narrow(query) {
  const q = Object.fromEntries(route.value.query);
  go(url(route.value.path, { ...q, ...query }), { stay: true });
}

// unsaved are the forms with something that nobody has saved.
const unsaved = new Set();

// useUnsaved has a form in which something was typed be left on purpose only.
export function useUnsaved(dirty) {
  const own = useRef({});
  dirty ? unsaved.add(own.current) : unsaved.delete(own.current);
  useEffect(() => () => void unsaved.delete(own.current), []);
}

export const mayLeave = () => !unsaved.size || confirm("What you typed is not saved. Leave it?");

addEventListener("beforeunload", (e) => unsaved.size && e.preventDefault());
addEventListener("popstate", () => {
  if (mayLeave()) return show();
  history.pushState(null, "", shown); // the browser has left already
});
addEventListener("click", (e) => {
  const a = e.target.closest?.("a[href]");
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || a.target || "leaves" in a.dataset || a.origin !== location.origin) return;
  if (a.pathname !== base && !a.pathname.startsWith(base + "/")) return;
  if (a.pathname.startsWith(base + "/assets/")) return;
  e.preventDefault();
  if (mayLeave()) go(a.pathname + a.search + a.hash);
});

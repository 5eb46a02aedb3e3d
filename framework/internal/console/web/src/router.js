// Everything that the page shows has a path below /console, with what narrows it in the query.
import { signal } from "./html.js";

const base = "/console";
const read = () => ({ path: location.pathname.slice(base.length).replace(/\/+$/, "") || "/", query: new URLSearchParams(location.search), hash: location.hash });

export const route = signal(read());
export const url = (path, query) => {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query || {})) if (v !== undefined && v !== null && v !== "") q.set(k, v);
  const text = q.toString();
  return base + (path === "/" ? "" : path) + (text ? "?" + text : "");
};

export function go(to, { replace = false } = {}) {
  if (to === location.pathname + location.search + location.hash) return;
  history[replace ? "replaceState" : "pushState"](null, "", to);
  route.value = read();
  if (!replace) {
    scrollTo(0, 0);
    document.getElementById("main")?.focus({ preventScroll: true });
  }
}

// narrow changes the query of the path that is shown.
export function narrow(query) {
  const q = Object.fromEntries(route.value.query);
  go(url(route.value.path, { ...q, ...query }), { replace: true });
}

addEventListener("popstate", () => (route.value = read()));
addEventListener("click", (e) => {
  const a = e.target.closest?.("a[href]");
  if (!a || e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || a.target || "leaves" in a.dataset || a.origin !== location.origin) return;
  if (a.pathname !== base && !a.pathname.startsWith(base + "/")) return;
  if (a.pathname.startsWith(base + "/assets/")) return;
  e.preventDefault();
  go(a.pathname + a.search + a.hash);
});

// Keeps the shopping list and what it needs, so that it opens where there is no network. All else
// needs the house. STAMP and LANGUAGE stand before this file: what is kept is in the language of the pages.
const CACHE = `pantrypal-${STAMP}-${LANGUAGE}`;
const NEEDED = ["/shopping", "/offline", "/manifest.webmanifest", "/icons/icon-192.png", ...["app.css", "app.js", "shopping.js", "cook.js", "icon.svg"].map((f) => `/assets/${f}?v=${STAMP}`)];

self.addEventListener("install", (e) => {
  e.waitUntil((async () => {
    const cache = await caches.open(CACHE);
    await cache.addAll(NEEDED);
    await self.skipWaiting();
  })());
});

self.addEventListener("activate", (e) => {
  e.waitUntil((async () => {
    for (const name of await caches.keys()) if (name.startsWith("pantrypal-") && name !== CACHE) await caches.delete(name);
    await self.clients.claim();
  })());
});

self.addEventListener("fetch", (e) => {
  const url = new URL(e.request.url);
  if (e.request.method !== "GET" || url.origin !== location.origin) return;
  if (url.pathname.startsWith("/assets/")) e.respondWith(asset(e.request));
  else if (url.pathname === "/shopping") e.respondWith(list(e));
  else if (e.request.mode === "navigate" && !url.pathname.startsWith("/console") && !url.pathname.startsWith("/docs")) e.respondWith(page(e.request));
});

async function asset(request) {
  return (await caches.match(request)) ?? fetch(request);
}

// The page of the list that was opened last. A worker that has started since knows none.
let shown = "";

async function list({ request, clientId, resultingClientId }) {
  const page = resultingClientId || clientId;
  if (request.mode === "navigate") shown = page;
  const cache = await caches.open(CACHE), id = new URL(request.url).searchParams.get("list");
  const own = id ? "/shopping?list=" + encodeURIComponent(id) : "/shopping";
  try {
    const r = await fetch(request);
    if (!r.ok || r.redirected) return r;
    if (own !== "/shopping") await cache.put(own, r.clone());
    // It is kept as the one seen last too, unless another was opened meanwhile: a page that is left asks and
    // is there until the next one has begun.
    if (shown ? page === shown : await clients.get(page)) await cache.put("/shopping", r.clone());
    return r;
  } catch {
    return (await cache.match(own)) ?? (await cache.match("/shopping")) ?? Response.error();
  }
}

async function page(request) {
  try {
    return await fetch(request);
  } catch {
    return (await (await caches.open(CACHE)).match("/offline")) ?? Response.error();
  }
}

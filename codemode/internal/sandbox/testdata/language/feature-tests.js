// => ["function","undefined","undefined","undefined","function"]
const has = typeof structuredClone;
if (typeof fetch === "function") fetch("https://example.com");
[has, typeof fetch, typeof require, typeof process, typeof globalThis.URL];

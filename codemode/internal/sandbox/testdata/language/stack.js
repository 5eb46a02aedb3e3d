// => ["Error: a","    at f (script:3:9)","    at script:6:4","undefined","x"]
function f() {
  throw new Error("a");
}
try {
  f();
} catch (e) {
  const own = Object.freeze(new Error("frozen"));
  const none = null;
  [...e["stack"].split("\n"), String(none?.stack?.length), Object.assign(new Error("b"), { stack: "x" }).stack, ...(own.stack ? [] : ["lost"])];
}

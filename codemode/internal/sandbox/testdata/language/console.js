// => [10, "function"]
console.table([{ a: 1 }]);
console.dir({ a: 1 }, { depth: 3 });
console.group("outer");
console.groupCollapsed();
console.groupEnd();
console.assert(true, "not said");
console.assert(false, "said", { a: 1 });
console.count();
console.count("x");
console.count("x");
console.countReset("x");
console.count("x");
console.time("t");
setTimeout(() => console.timeEnd("t"), 30);
console.timeLog("t");
console.timeEnd("unknown");
[10, typeof console.trace];

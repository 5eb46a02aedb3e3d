// => [true,true,1,0,"2024-03-05T00:00:00.000Z"]
const original = { when: new Date("2024-03-05"), tags: new Set(["a"]), map: new Map([["k", { n: 1 }]]) };
original.self = original;
const copy = structuredClone(original);
copy.tags.delete("a");
[copy !== original, copy.self === copy, original.tags.size, copy.tags.size, copy.when];

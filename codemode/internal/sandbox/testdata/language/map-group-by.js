// => [["a",2],["b",1]]
const byTag = Map.groupBy([{ t: "a" }, { t: "b" }, { t: "a" }], ({ t }) => t);
[...byTag].map(([k, v]) => [k, v.length]);

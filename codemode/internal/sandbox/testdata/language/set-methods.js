// => [[1,2,3],[2],[1],true]
const a = new Set([1, 2]), b = new Set([2, 3]);
[[...a.union(b)], [...a.intersection(b)], [...a.difference(b)], new Set([1]).isSubsetOf(a)];

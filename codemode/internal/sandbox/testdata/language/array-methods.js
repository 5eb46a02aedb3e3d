// => [3,[3,2,1],[1,9,3],[1,3],4,[1,2,3,4],2]
const list = [1, 2, 3];
[list.at(-1), list.toReversed(), list.with(1, 9), list.toSpliced(1, 1), [1, 4, 2].findLast((n) => n > 2), [[1, [2]], [3, 4]].flat(2), [1, 2, 3].findLastIndex((n) => n === 3)];

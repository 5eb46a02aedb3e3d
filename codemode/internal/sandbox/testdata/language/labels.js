// => [[0,0],[0,1],[1,0]]
const pairs = [];
outer: for (let i = 0; i < 3; i++) {
  for (let j = 0; j < 3; j++) {
    if (i + j === 2) { if (i) break outer; continue outer; }
    pairs.push([i, j]);
  }
}
pairs;

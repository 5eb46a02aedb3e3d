// => [["a","1"],["b","22"]]
const token = /([a-z])(\d+)/y, out = [];
for (let t; (t = token.exec("a1b22!")); ) out.push([t[1], t[2]]);
out;

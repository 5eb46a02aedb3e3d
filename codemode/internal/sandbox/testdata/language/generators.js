// => [1,"sent",{"done":true},[1,1,2,3,5]]
function* talk() { const got = yield 1; yield got; }
const g = talk();
function* fib(a = 1, b = 1) { for (;;) { yield a; [a, b] = [b, a + b]; } }
const five = [];
for (const n of fib()) { if (n > 5) break; five.push(n); }
[g.next().value, g.next("sent").value, g.next(), five];

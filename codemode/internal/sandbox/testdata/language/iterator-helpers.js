// => [[0,20,40],10,[1,2],true]
function* count() { for (let i = 0; ; i++) yield i; }
const tens = count().map((n) => n * 10).filter((n) => n % 20 === 0).take(3).toArray();
[tens, count().take(5).reduce((a, b) => a + b), new Set([1, 2, 3]).values().take(2).toArray(), count().drop(5).some((n) => n > 6)];

// => [1,2]
const it = Iterator.from({ n: 0, next() { return { value: ++this.n, done: this.n > 2 }; } });
it.toArray();

// => ["micro","soon","later"]
const order = [];
setTimeout(() => order.push("later"), 50);
setTimeout(() => order.push("soon"), 5);
queueMicrotask(() => order.push("micro"));
await new Promise((r) => setTimeout(r, 100));
order;

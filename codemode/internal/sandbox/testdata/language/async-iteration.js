// => [[0,1,2],[10,20]]
async function* pages() { for (let i = 0; i < 3; i++) { await null; yield i; } }
const stream = { async *[Symbol.asyncIterator]() { yield 10; yield 20; } };
const got = [], more = [];
for await (const page of pages()) got.push(page);
for await (const x of stream) more.push(x);
return [got, more];

// => ["work","closed"]
const trail = [];
async function work() {
  await using r = { async [Symbol.asyncDispose]() { await null; trail.push("closed"); } };
  trail.push("work");
}
await work();
trail;

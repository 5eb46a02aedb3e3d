// => [1,2,"done"]
const numbers = async function* () { yield 1; yield 2; };
class Source { static async *all() { yield* numbers(); } }
async function* all() { yield* Source.all(); }
const it = all();
it.next().then(async (a) => {
  const b = await it.next(), c = await it.next();
  return [a.value, b.value, c.done ? "done" : "more"];
});

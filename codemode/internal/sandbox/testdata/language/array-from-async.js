// => [2,4]
async function* numbers() { yield 1; yield 2; }
const doubled = await Array.fromAsync(numbers(), async (n) => n * 2);
doubled;

// => ["sync throw",7]
const failed = await Promise.try(() => { throw new Error("sync throw"); }).catch((e) => e.message);
[failed, await Promise.try((a, b) => a + b, 3, 4)];

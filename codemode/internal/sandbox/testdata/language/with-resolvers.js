// => "done"
const { promise, resolve } = Promise.withResolvers();
setTimeout(resolve, 100, "done");
await promise;

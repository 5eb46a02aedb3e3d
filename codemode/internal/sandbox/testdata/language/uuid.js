// => [true,true,8]
const id = crypto.randomUUID();
[/^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/.test(id), id !== crypto.randomUUID(), crypto.getRandomValues(new Uint8Array(8)).length];

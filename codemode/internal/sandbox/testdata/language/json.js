// => ["{\n  \"a\": [\n    1\n  ]\n}",{"a":2},"\"2024-01-01T00:00:00.000Z\""]
[JSON.stringify({ a: [1] }, null, 2), JSON.parse('{"a":1}', (k, v) => (k === "a" ? v + 1 : v)), JSON.stringify(new Date("2024-01-01"))];

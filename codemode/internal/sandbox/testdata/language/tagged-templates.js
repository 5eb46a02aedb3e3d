// => ["SELECT * WHERE a = ? AND b = ?",[1,"x"],"\\n"]
const sql = (strings, ...values) => [strings.join("?"), values];
[...sql`SELECT * WHERE a = ${1} AND b = ${"x"}`, String.raw`\n`];

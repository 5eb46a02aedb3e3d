// => ["closed"]
const log = [];
function* source() { try { yield 1; yield 2; } finally { log.push("closed"); } }
for (const n of source().map((x) => x)) break;
log;

// => ["get a",1,["a"]]
const reads = [];
const p = new Proxy({ a: 1 }, { get(t, k, r) { reads.push("get " + String(k)); return Reflect.get(t, k, r); } });
const value = p.a;
[reads[0], value, Reflect.ownKeys({ a: 1 })];

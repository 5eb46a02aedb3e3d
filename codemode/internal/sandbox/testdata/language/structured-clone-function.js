// => ["DataCloneError",true]
let seen;
try { structuredClone({ f() {} }); } catch (e) { seen = [e.name, e instanceof DOMException]; }
seen;

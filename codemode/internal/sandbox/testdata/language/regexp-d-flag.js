// => ["SyntaxError",true]
let message;
try { new RegExp("a", "d"); } catch (e) { message = [e.name, e.message.includes("match.index")]; }
message;

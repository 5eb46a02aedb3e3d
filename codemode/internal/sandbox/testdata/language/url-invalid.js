// => ["TypeError","Invalid URL: /relative"]
let problem;
try { new URL("/relative"); } catch (e) { problem = [e.name, e.message]; }
problem;

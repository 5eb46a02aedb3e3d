// => ["SGVsbG8=","Hello","InvalidCharacterError","w6Q="]
let refused;
try { btoa("€"); } catch (e) { refused = e.name; }
[btoa("Hello"), atob("SGVsbG8="), refused, btoa(String.fromCharCode(...new TextEncoder().encode("ä")))];

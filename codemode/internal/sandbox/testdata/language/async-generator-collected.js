// => ["a","b"]
async function* names() { yield "a"; yield "b"; }
Array.fromAsync(names());

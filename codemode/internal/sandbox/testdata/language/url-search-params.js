// => ["a=1&b=2+3&a=4",["1","4"],null,{"a":"4","b":"2 3"},3]
const params = new URLSearchParams({ a: "1", b: "2 3" });
params.append("a", 4);
[params.toString(), params.getAll("a"), params.get("z"), Object.fromEntries(params), params.size];

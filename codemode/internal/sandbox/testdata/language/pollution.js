// => ["Milk","Milk"]
Array.prototype.map = () => "broken";
Object.prototype.toJSON = undefined;
String.prototype.replace = () => "broken";
Map.prototype.get = () => "broken";
const url = new URL("https://a.de/?q=1");
[SDK.Entities.Todo.getById("1").title, url.searchParams.size ? SDK.Entities.Todo.findById("1").title : ""];

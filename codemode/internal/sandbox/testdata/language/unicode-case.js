// => [true,false,"fooBar"]
const camel = (s) => s.replace(/[-_\s]+(\p{L})/gu, (_, c) => c.toUpperCase());
[/^\p{Lu}/u.test("Ärger"), /\P{L}/u.test("abc"), camel("foo-bar")];

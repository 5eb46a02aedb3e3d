// => ["https://a.de/x/z?y=1","https://b.de/q","https://a.de/root",false]
const base = "https://a.de/x/y?old#h";
[new URL("z?y=1", base).href, new URL("//b.de/q", base).href, String(new URL("/root", base)), URL.canParse("not a url")];

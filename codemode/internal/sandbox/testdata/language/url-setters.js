// => ["https://u%3A:p@b.de:81/x%3Fy?q=1#h","https://u%3A:p@b.de:81/x%3Fy?q=1#h",["b","1"],"https://b.de",["null","https://a.de"],false]
const u = new URL("http://a.de/?a=1");
u.protocol = "https";
u.protocol = "mailto"; // not to one of another kind
u.username = "u:";
u.password = "p";
u.host = "b.de:81";
u.port = "no";
u.pathname = "x?y";
u.search = "?q=1";
u.hash = "h";
const before = u.href;
u.hostname = "a b"; // no host
const p = new URL("https://b.de/?a=1");
const params = p.searchParams;
p.search = "b=1";
[before, u.href, [...params][0], p.origin, [new URL("mailto:a").origin, new URL("blob:https://a.de/x").origin], URL.canParse("http://xn--/")];

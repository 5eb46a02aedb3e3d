// => ["https:","api.example.com","8443","/v1/items","?q=a%20b&page=2","#top","https://api.example.com:8443"]
const u = new URL("HTTPS://user@API.Example.com:8443/v1/./x/../items?q=a b&page=2#top");
[u.protocol, u.hostname, u.port, u.pathname, u.search, u.hash, u.origin];

// => ["127.0.0.1","[::1]","xn--mnchen-3ya.de","a@b.de"]
[new URL("http://0x7f.1").host, new URL("http://[0:0::1]:80/").host, new URL("http://MÜNCHEN.de").host, new URL("mailto:a@b.de").pathname];

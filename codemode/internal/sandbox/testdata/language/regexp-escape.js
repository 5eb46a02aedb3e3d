// => "1\\.5\\*\\(x\\)"
RegExp.escape(" 1.5*(x)").replace("\\x20", "");

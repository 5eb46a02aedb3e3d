exports.hi = "hello";

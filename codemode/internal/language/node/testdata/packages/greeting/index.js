const { hi } = require("./part");
exports.hello = (name) => hi + " " + name;

// => [["a","ä","b","Z"],["item2","item10"],0,["1","2","10"]]
[["b", "Z", "ä", "a"].sort((x, y) => x.localeCompare(y)), ["item10", "item2"].sort((x, y) => x.localeCompare(y, undefined, { numeric: true })), "A".localeCompare("a", "en", { sensitivity: "base" }), ["10", "1", "2"].sort(new Intl.Collator("en", { numeric: true }).compare)];

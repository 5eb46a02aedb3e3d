// => ["1st","2nd","3rd","11th","a, b, and c","yesterday","in 3 days"]
const suffix = { one: "st", two: "nd", few: "rd", other: "th" };
const rules = new Intl.PluralRules("en", { type: "ordinal" });
const rel = new Intl.RelativeTimeFormat("en", { numeric: "auto" });
[...[1, 2, 3, 11].map((n) => n + suffix[rules.select(n)]), new Intl.ListFormat("en").format(["a", "b", "c"]), rel.format(-1, "day"), rel.format(3, "day")];

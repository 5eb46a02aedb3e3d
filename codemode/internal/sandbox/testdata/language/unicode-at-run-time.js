// => [true,"\\p{Lu}+","/\\p{Lu}+/gu",["ÄÖ","B"]]
const source = ["\\p{Lu}", "+"].join("");
const re = new RegExp(source, "gu");
[re instanceof RegExp, re.source, String(re), "aÄÖ B".match(re)];

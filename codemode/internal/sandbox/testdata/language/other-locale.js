// => ["1,234.5","en-US"]
const nf = new Intl.NumberFormat("de-DE");
[nf.format(1234.5), nf.resolvedOptions().locale];

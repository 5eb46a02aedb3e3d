// => [["RangeError","the locale de-CH is not available here: there are en-US, en-GB, en-CA"],["RangeError","the locale de is not available here: there are en-US, en-GB, en-CA"],["RangeError","the locale en-IN is not available here: there are en-US, en-GB, en-CA"],["RangeError","the locale ar-EG-u-nu-arab is not available here: there are en-US, en-GB, en-CA"],["RangeError","Incorrect locale information provided: en_US"],["RangeError","Incorrect locale information provided: not a locale"],["RangeError","the locale fr is not available here: there are en-US, en-GB, en-CA"],["RangeError","the locale de is not available here: there are en-US, en-GB, en-CA"],["RangeError","the locale tr is not available here: there are en-US, en-GB, en-CA"],["RangeError","the numberingSystem arab is not available here: there is latn"],"1,234.5","1/2/2026","1,234.5,2","I",["a","ä","z"],["en-GB"]]
const error = (f) => { try { return f() } catch (e) { return [e.name, e.message] } };
const n = 1234.5, d = new Date(Date.UTC(2026, 0, 2, 12));
[
  error(() => n.toLocaleString("de-CH")), error(() => d.toLocaleDateString("de")), error(() => new Intl.NumberFormat("en-IN").format(n)), error(() => d.toLocaleTimeString("ar-EG-u-nu-arab")),
  error(() => n.toLocaleString("en_US")), error(() => d.toLocaleString("not a locale")), error(() => new Intl.PluralRules(["fr", "it"])), error(() => [n].toLocaleString("de")), error(() => "i".toLocaleUpperCase("tr")),
  error(() => n.toLocaleString("en", { numberingSystem: "arab" })),
  n.toLocaleString(["de-CH", "en"]), d.toLocaleDateString("en-Latn-US", { timeZone: "UTC" }), [n, 2].toLocaleString(), "i".toLocaleUpperCase("de"), ["z", "ä", "a"].sort((a, b) => a.localeCompare(b, "de")), Intl.NumberFormat.supportedLocalesOf(["de", "en-GB"]),
]

// => ["1/1/2024, 1:00:00 AM","12/31/2023","GMT+1","RangeError"]
const t = new Date("2024-01-01T00:00:00Z");
const zone = new Intl.DateTimeFormat("en-US", { timeZone: "Europe/Berlin", timeZoneName: "short" }).formatToParts(t).find((p) => p.type === "timeZoneName").value;
let bad;
try { t.toLocaleString("en-US", { timeZone: "Mars/Base" }); } catch (e) { bad = e.name; }
[t.toLocaleString("en-US", { timeZone: "Europe/Berlin" }), t.toLocaleDateString("en-US", { timeZone: "America/New_York" }), zone, bad];

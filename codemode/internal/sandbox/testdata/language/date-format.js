// => ["3/5/2024, 2:07:09 PM","March 5, 2024","Tue, Mar 5","05/03/2024","02:07 PM","2024-03-05"]
const d = new Date("2024-03-05T14:07:09Z");
[d.toLocaleString(), d.toLocaleDateString("en-US", { year: "numeric", month: "long", day: "numeric" }), d.toLocaleDateString("en-US", { weekday: "short", month: "short", day: "numeric" }), d.toLocaleDateString("en-GB"), d.toLocaleTimeString("en-US", { hour: "2-digit", minute: "2-digit" }), d.toLocaleDateString("en-CA")];

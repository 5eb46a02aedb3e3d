// => ["2024-03-05T00:00:00.000Z","2024-03-05T22:30:00.000Z","2024-02-29",true,0,31]
const last = new Date(Date.UTC(2024, 2, 0));
[new Date("March 5, 2024"), new Date("Mar 5, 2024 10:30 PM"), last.toISOString().slice(0, 10), Number.isNaN(new Date("soon").getTime()), new Date().getTimezoneOffset(), new Date(2024, 1, 0).getDate()];

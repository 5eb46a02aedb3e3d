// => [["fulfilled",1],["rejected","no"]]
const settled = await Promise.allSettled([Promise.resolve(1), Promise.reject(new Error("no"))]);
settled.map((s) => [s.status, s.value ?? s.reason.message]);

// => ["outer","inner",true,["a","b"],true]
const e = new Error("outer", { cause: new TypeError("inner") });
const all = await Promise.any([Promise.reject("a"), Promise.reject("b")]).catch((x) => x);
[e.message, e.cause.message, e.cause instanceof TypeError, all.errors, all instanceof AggregateError];

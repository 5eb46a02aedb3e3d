// => [5,"x",0,null,{"b":2},[1,[2,3]]]
let a = null, b = "", c = { d: null };
a ??= 5; b ||= "x";
const { z = 0, ...rest } = { b: 2 };
const [first, ...others] = [1, 2, 3];
[a, b, z, c?.d?.e ?? null, rest, [first, others]];

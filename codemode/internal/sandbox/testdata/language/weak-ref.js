// => {"n":1}
const target = { n: 1 };
new WeakRef(target).deref();

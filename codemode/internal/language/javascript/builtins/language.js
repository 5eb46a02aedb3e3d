// The parts of ECMAScript 2025 that the engine lacks. The function returns the values
// by the names under which they are defined.
(function () {
  "use strict";
  const iteratorPrototype = Object.getPrototypeOf(Object.getPrototypeOf([].values()));
  const needs = (f, who) => {
    if (typeof f !== "function") throw new TypeError(who + " needs a function");
    return f;
  };
  const grouped = (items, by, who, add) => {
    needs(by, who);
    if (items === null || items === undefined) throw new TypeError(who + " needs something to iterate over");
    let i = 0;
    for (const item of items) add(by(item, i++), item);
  };

  // direct reads `next` once, as iterator helpers do, and closes the source when a
  // loop over it is left.
  const direct = (source) => {
    if (Object(source) !== source) throw new TypeError("an iterator helper was called on something that is no iterator");
    const next = source.next;
    return {
      [Symbol.iterator]() { return this; },
      next() { return next.call(source); },
      return(value) {
        const close = source.return;
        return close === undefined || close === null ? { value, done: true } : close.call(source);
      },
    };
  };
  const count = (n, who) => {
    const number = Number(n);
    if (Number.isNaN(number) || Math.trunc(number) < 0) throw new RangeError(who + " needs a number that is not negative");
    return Math.trunc(number);
  };
  const iteratorOf = (value, stringsToo) => {
    if (Object(value) !== value && !(stringsToo && typeof value === "string")) throw new TypeError("not an iterable: " + typeof value);
    const method = value[Symbol.iterator];
    return method === undefined || method === null ? value : method.call(value);
  };

  function Iterator() {
    if (new.target === undefined || new.target === Iterator) throw new TypeError("Iterator is an abstract class: use Iterator.from");
  }
  Object.defineProperty(Iterator, "prototype", { value: iteratorPrototype, writable: false });
  const statics = {
    from(value) {
      const it = iteratorOf(value, true);
      if (iteratorPrototype.isPrototypeOf(it)) return it;
      const source = direct(it);
      const wrapper = Object.create(iteratorPrototype);
      wrapper.next = () => source.next();
      wrapper.return = (v) => source.return(v);
      return wrapper;
    },
  };
  Object.defineProperty(Iterator, "from", { value: statics.from, writable: true, configurable: true });

  const helpers = {
    map(fn) {
      needs(fn, "map");
      const source = direct(this);
      return (function* () { let i = 0; for (const v of source) yield fn(v, i++); })();
    },
    filter(fn) {
      needs(fn, "filter");
      const source = direct(this);
      return (function* () { let i = 0; for (const v of source) if (fn(v, i++)) yield v; })();
    },
    take(limit) {
      let left = count(limit, "take");
      const source = direct(this);
      return (function* () {
        if (left === 0) { source.return(); return; }
        for (const v of source) { yield v; if (--left === 0) return; }
      })();
    },
    drop(limit) {
      let left = count(limit, "drop");
      const source = direct(this);
      return (function* () { for (const v of source) { if (left > 0) left--; else yield v; } })();
    },
    flatMap(fn) {
      needs(fn, "flatMap");
      const source = direct(this);
      return (function* () { let i = 0; for (const v of source) yield* direct(iteratorOf(fn(v, i++), false)); })();
    },
    reduce(fn, ...initial) {
      needs(fn, "reduce");
      let any = initial.length > 0, total = initial[0], i = 0;
      for (const v of direct(this)) {
        if (any) total = fn(total, v, i); else { total = v; any = true; }
        i++;
      }
      if (!any) throw new TypeError("reduce of an empty iterator without an initial value");
      return total;
    },
    toArray() { return [...direct(this)]; },
    forEach(fn) { needs(fn, "forEach"); let i = 0; for (const v of direct(this)) fn(v, i++); },
    some(fn) { needs(fn, "some"); let i = 0; for (const v of direct(this)) if (fn(v, i++)) return true; return false; },
    every(fn) { needs(fn, "every"); let i = 0; for (const v of direct(this)) if (!fn(v, i++)) return false; return true; },
    find(fn) { needs(fn, "find"); let i = 0; for (const v of direct(this)) if (fn(v, i++)) return v; return undefined; },
  };

  const functions = {
    objectGroupBy(items, by) {
      const out = Object.create(null);
      grouped(items, by, "Object.groupBy", (key, item) => {
        const name = typeof key === "symbol" ? key : String(key);
        if (name in out) out[name].push(item); else out[name] = [item];
      });
      return out;
    },
    mapGroupBy(items, by) {
      const out = new Map();
      grouped(items, by, "Map.groupBy", (key, item) => {
        const list = out.get(key);
        if (list) list.push(item); else out.set(key, [item]);
      });
      return out;
    },
    async fromAsync(items, map, self) {
      if (map !== undefined) needs(map, "Array.fromAsync");
      const out = [];
      const add = async (v) => { out.push(map === undefined ? v : await map.call(self, v, out.length)); };
      const method = items[Symbol.asyncIterator];
      if (method !== undefined && method !== null) {
        const it = method.call(items);
        for (;;) {
          const step = await it.next();
          if (step.done) return out;
          try { await add(step.value); } catch (e) { if (it.return) await it.return(); throw e; }
        }
      }
      const list = items[Symbol.iterator] === undefined ? Array.from(items) : items;
      for (const v of list) await add(await v);
      return out;
    },
    withResolvers() {
      let resolve, reject;
      const promise = new this((yes, no) => { resolve = yes; reject = no; });
      return { promise, resolve, reject };
    },
    tryCall(fn, ...args) { return new this((resolve) => resolve(fn(...args))); },
    isWellFormed() { return !/[\ud800-\udfff]/u.test(String(this)); },
    toWellFormed() { return String(this).replace(/[\ud800-\udfff]/gu, "\ufffd"); },
    isError(value) { return Object.prototype.toString.call(value) === "[object Error]"; },
    escape(text) {
      if (typeof text !== "string") throw new TypeError("RegExp.escape needs a string");
      const code = (c) => {
        const n = c.charCodeAt(0);
        return n < 256 ? "\\x" + n.toString(16).padStart(2, "0") : "\\u" + n.toString(16).padStart(4, "0");
      };
      return text.replace(/^[0-9A-Za-z]|[\^$\\.*+?()[\]{}|\/]|[,\-=<>#&!%:;@~'`"\s]/g,
        (c) => (/[\^$\\.*+?()[\]{}|\/]/.test(c) ? "\\" + c : code(c)));
    },
    getOrInsert(key, value) { if (!this.has(key)) this.set(key, value); return this.get(key); },
    getOrInsertComputed(key, make) { needs(make, "getOrInsertComputed"); if (!this.has(key)) this.set(key, make(key)); return this.get(key); },
  };

  class WeakRef {
    #target;
    constructor(target) {
      if (Object(target) !== target) throw new TypeError("WeakRef needs an object");
      this.#target = target;
    }
    deref() { return this.#target; }
    get [Symbol.toStringTag]() { return "WeakRef"; }
  }
  class FinalizationRegistry {
    constructor(cleanup) { needs(cleanup, "FinalizationRegistry"); }
    register() {}
    unregister() { return false; }
    get [Symbol.toStringTag]() { return "FinalizationRegistry"; }
  }

  const named = (name, fn) => Object.defineProperty(fn, "name", { value: name, configurable: true });
  const out = {
    "Object.groupBy": named("groupBy", functions.objectGroupBy),
    "Map.groupBy": named("groupBy", functions.mapGroupBy),
    "Array.fromAsync": functions.fromAsync,
    "Promise.withResolvers": functions.withResolvers,
    "Promise.try": named("try", functions.tryCall),
    "String.prototype.isWellFormed": functions.isWellFormed,
    "String.prototype.toWellFormed": functions.toWellFormed,
    "Error.isError": functions.isError,
    "RegExp.escape": functions.escape,
    "Map.prototype.getOrInsert": functions.getOrInsert,
    "Map.prototype.getOrInsertComputed": functions.getOrInsertComputed,
    WeakRef, FinalizationRegistry, Iterator,
  };
  for (const name of Object.keys(helpers)) out["Iterator.prototype." + name] = helpers[name];
  return out;
})

// Defines built-ins as accessors that put the real thing in their place when they
// are first read. Each wanted one is [source, holder, prefix, name]; load gives
// what a source makes for a name.
(function (load, wanted) {
  "use strict";
  const define = Object.defineProperty;
  const put = (holder, name, value) => define(holder, name, { value, writable: true, enumerable: false, configurable: true });
  for (let i = 0; i < wanted.length; i += 4) {
    const source = wanted[i], holder = wanted[i + 1], path = wanted[i + 2] + wanted[i + 3], name = wanted[i + 3];
    const access = function (value) {
      if (arguments.length === 0) {
        value = load(source, path);
        put(holder, name, value);
        return value;
      }
      put(Object(this) === this ? this : holder, name, value); // perhaps on what inherits it
    };
    define(holder, name, { get: access, set: access, enumerable: false, configurable: true });
  }
})

// What scripts know from the Web and from Node, over functions of the host.
(function (host) {
  "use strict";
  class DOMException extends Error {
    constructor(message = "", name = "Error") {
      super(message);
      Object.defineProperty(this, "name", { value: String(name), writable: true, configurable: true });
    }
    get code() { return this.name === "DataCloneError" ? 25 : this.name === "InvalidCharacterError" ? 5 : 0; }
  }

  const typed = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array,
    Float32Array, Float64Array, BigInt64Array, BigUint64Array];
  const errors = { Error, EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
  const tag = (v) => Object.prototype.toString.call(v).slice(8, -1);
  const cannot = (what) => { throw new DOMException(what + " cannot be cloned", "DataCloneError"); };

  function clone(value, seen) {
    if (typeof value === "symbol") cannot("a symbol");
    if (typeof value === "function") cannot("the function " + (value.name || "without a name"));
    if (Object(value) !== value) return value;
    if (seen.has(value)) return seen.get(value);
    const keep = (copy) => { seen.set(value, copy); return copy; };
    if (Array.isArray(value)) return members(value, keep(new Array(value.length)), seen);
    switch (tag(value)) {
      case "Date": return keep(new Date(value.getTime()));
      case "RegExp": return keep(new RegExp(value.source, value.flags));
      case "Boolean": case "Number": case "String": case "BigInt":
        if (typeof value.valueOf() !== "object") return keep(Object(value.valueOf()));
        break;
      case "Map": {
        const copy = keep(new Map());
        for (const [k, v] of [...value]) copy.set(clone(k, seen), clone(v, seen));
        return copy;
      }
      case "Set": {
        const copy = keep(new Set());
        for (const v of [...value]) copy.add(clone(v, seen));
        return copy;
      }
      case "Error": {
        const copy = keep(new (errors[value.name] || Error)(value.message));
        if ("cause" in value) Object.defineProperty(copy, "cause", { value: clone(value.cause, seen), writable: true, configurable: true });
        return copy;
      }
      case "WeakMap": case "WeakSet": case "WeakRef": case "Promise": cannot("a " + tag(value));
    }
    if (value instanceof ArrayBuffer) return keep(value.slice(0));
    if (value instanceof DataView) return keep(new DataView(clone(value.buffer, seen), value.byteOffset, value.byteLength));
    for (const type of typed) {
      if (value instanceof type) return keep(new type(clone(value.buffer, seen), value.byteOffset, value.length));
    }
    return members(value, keep({}), seen);
  }
  function members(from, to, seen) {
    for (const key of Object.keys(from)) {
      Object.defineProperty(to, key, { value: clone(from[key], seen), writable: true, enumerable: true, configurable: true });
    }
    return to;
  }
  const functions = {
    structuredClone(value, options) {
      if (arguments.length === 0) throw new TypeError("structuredClone needs a value");
      if (options && options.transfer && options.transfer.length > 0) cannot("what is to be transferred");
      return clone(value, new Map());
    },
    atob(text) {
      const out = host.atob(String(text));
      if (out === null) throw new DOMException("atob: the text is not base64", "InvalidCharacterError");
      return out;
    },
    btoa(text) {
      const out = host.btoa(String(text));
      if (out === null) throw new DOMException("btoa: a character is above U+00FF. Encode with TextEncoder first", "InvalidCharacterError");
      return out;
    },
  };

  class TextEncoder {
    get encoding() { return "utf-8"; }
    encode(text = "") { return new Uint8Array(host.encode(String(text))); }
    encodeInto(text, into) {
      let read = 0, written = 0;
      for (const c of String(text)) {
        const bytes = new Uint8Array(host.encode(c));
        if (written + bytes.length > into.length) break;
        into.set(bytes, written);
        written += bytes.length;
        read += c.length;
      }
      return { read, written };
    }
  }
  class TextDecoder {
    #fatal; #ignoreBOM; #rest = []; #started = false;
    constructor(label = "utf-8", options = {}) {
      if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(String(label))) {
        throw new RangeError("TextDecoder knows utf-8 only, not " + String(label));
      }
      this.#fatal = Boolean(options && options.fatal);
      this.#ignoreBOM = Boolean(options && options.ignoreBOM);
    }
    get encoding() { return "utf-8"; }
    get fatal() { return this.#fatal; }
    get ignoreBOM() { return this.#ignoreBOM; }
    decode(input, options) {
      let bytes;
      if (input === undefined) bytes = new Uint8Array(0);
      else if (input instanceof ArrayBuffer) bytes = new Uint8Array(input);
      else if (ArrayBuffer.isView(input)) bytes = new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
      else throw new TypeError("decode needs an ArrayBuffer or a typed array");
      if (this.#rest.length > 0) {
        const joined = new Uint8Array(this.#rest.length + bytes.length);
        joined.set(this.#rest);
        joined.set(bytes, this.#rest.length);
        bytes = joined;
      }
      const more = Boolean(options && options.stream);
      const [text, rest] = host.decode(bytes.slice().buffer, this.#fatal, more);
      if (text === null) { this.#rest = []; this.#started = false; throw new TypeError("the bytes are not UTF-8"); }
      this.#rest = new Uint8Array(rest);
      const bom = !this.#ignoreBOM && !this.#started && text.charCodeAt(0) === 0xfeff;
      this.#started = more && (this.#started || text.length > 0);
      return bom ? text.slice(1) : text;
    }
  }

  const form = (text) => encodeURIComponent(text.replace(/[\ud800-\udfff]/gu, "\ufffd"))
    .replace(/[!'()~]/g, (c) => "%" + c.charCodeAt(0).toString(16).toUpperCase()).replace(/%20/g, "+");
  const readForm = (text) => {
    const out = [];
    for (const part of text.split("&")) {
      if (part === "") continue;
      const at = part.indexOf("=");
      out.push(at < 0 ? [host.unform(part), ""] : [host.unform(part.slice(0, at)), host.unform(part.slice(at + 1))]);
    }
    return out;
  };
  let attach, replaceList;

  class URLSearchParams {
    #list = []; #changed = null;
    static {
      attach = (p, list, changed) => { p.#list = list; p.#changed = changed; };
      replaceList = (p, list) => { p.#list = list; };
    }
    constructor(init = "") {
      if (Object(init) === init) {
        if (init[Symbol.iterator] !== undefined) {
          for (const pair of init) {
            const both = [...pair];
            if (both.length !== 2) throw new TypeError("URLSearchParams needs pairs of a name and a value");
            this.#list.push([String(both[0]), String(both[1])]);
          }
        } else {
          for (const key of Object.keys(init)) this.#list.push([key, String(init[key])]);
        }
      } else {
        const text = String(init);
        this.#list = readForm(text.startsWith("?") ? text.slice(1) : text);
      }
    }
    #update() { if (this.#changed) this.#changed(this.toString()); }
    get size() { return this.#list.length; }
    append(name, value) { this.#list.push([String(name), String(value)]); this.#update(); }
    delete(name, value) {
      this.#list = this.#list.filter(([n, v]) => n !== String(name) || (value !== undefined && v !== String(value)));
      this.#update();
    }
    get(name) { const found = this.#list.find(([n]) => n === String(name)); return found ? found[1] : null; }
    getAll(name) { return this.#list.filter(([n]) => n === String(name)).map(([, v]) => v); }
    has(name, value) { return this.#list.some(([n, v]) => n === String(name) && (value === undefined || v === String(value))); }
    set(name, value) {
      const at = this.#list.findIndex(([n]) => n === String(name));
      if (at < 0) this.#list.push([String(name), String(value)]);
      else {
        this.#list[at] = [String(name), String(value)];
        this.#list = this.#list.filter(([n], i) => i <= at || n !== String(name));
      }
      this.#update();
    }
    sort() { this.#list.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0)); this.#update(); }
    forEach(fn, self) { for (const [n, v] of this) fn.call(self, v, n, this); }
    *entries() { for (let i = 0; i < this.#list.length; i++) yield [this.#list[i][0], this.#list[i][1]]; }
    *keys() { for (const [n] of this) yield n; }
    *values() { for (const [, v] of this) yield v; }
    toString() { return this.#list.map(([n, v]) => form(n) + "=" + form(v)).join("&"); }
    [Symbol.iterator]() { return this.entries(); }
    get [Symbol.toStringTag]() { return "URLSearchParams"; }
  }

  const invalid = (input) => Object.assign(new TypeError("Invalid URL: " + input), { code: "ERR_INVALID_URL", input });
  class URL {
    #u; #params = null;
    constructor(input, base) {
      this.#u = host.url(String(input), base === undefined ? undefined : String(base));
      if (this.#u === null) throw invalid(String(input));
    }
    static canParse(input, base) { return host.url(String(input), base === undefined ? undefined : String(base)) !== null; }
    static parse(input, base) { return URL.canParse(input, base) ? new URL(input, base) : null; }
    // A part is left as it was where the value does not fit.
    #change(part, v, keepParams) {
      const next = host.urlWith(this.#u.href, part, String(v));
      if (next === null) return;
      this.#u = next;
      if (this.#params && !keepParams) replaceList(this.#params, readForm(next.search.slice(1)));
    }
    get href() { return this.#u.href; }
    set href(v) {
      const next = host.url(String(v), undefined);
      if (next === null) throw invalid(String(v));
      this.#u = next;
      if (this.#params) replaceList(this.#params, readForm(next.search.slice(1)));
    }
    get origin() { return this.#u.origin; }
    get protocol() { return this.#u.protocol; }
    set protocol(v) { this.#change("protocol", v); }
    get username() { return this.#u.username; }
    set username(v) { this.#change("username", v); }
    get password() { return this.#u.password; }
    set password(v) { this.#change("password", v); }
    get host() { return this.#u.host; }
    set host(v) { this.#change("host", v); }
    get hostname() { return this.#u.hostname; }
    set hostname(v) { this.#change("hostname", v); }
    get port() { return this.#u.port; }
    set port(v) { this.#change("port", v); }
    get pathname() { return this.#u.pathname; }
    set pathname(v) { this.#change("pathname", v); }
    get search() { return this.#u.search; }
    set search(v) { this.#change("search", v); }
    get hash() { return this.#u.hash; }
    set hash(v) { this.#change("hash", v, true); }
    get searchParams() {
      if (!this.#params) {
        this.#params = new URLSearchParams();
        attach(this.#params, readForm(this.#u.search.slice(1)), (text) => this.#change("search", text, true));
      }
      return this.#params;
    }
    toString() { return this.#u.href; }
    toJSON() { return this.#u.href; }
    get [Symbol.toStringTag]() { return "URL"; }
  }

  const random = Math.random, now = Date.now;
  const hex = (digits) => Math.floor(random() * 16 ** digits).toString(16).padStart(digits, "0");
  const crypto = {
    randomUUID() { return hex(8) + "-" + hex(4) + "-4" + hex(3) + "-" + "89ab"[Math.floor(random() * 4)] + hex(3) + "-" + hex(6) + hex(6); },
    getRandomValues(into) {
      if (!ArrayBuffer.isView(into) || into instanceof DataView || into instanceof Float32Array || into instanceof Float64Array) {
        throw new TypeError("getRandomValues needs an array of integers");
      }
      const bytes = new Uint8Array(into.buffer, into.byteOffset, into.byteLength);
      for (let i = 0; i < bytes.length; i++) bytes[i] = Math.floor(random() * 256);
      return into;
    },
  };
  const performance = { timeOrigin: host.origin(), now() { return now() - host.origin(); } };
  return { ...functions, DOMException, TextEncoder, TextDecoder, URL, URLSearchParams, crypto, performance };
})

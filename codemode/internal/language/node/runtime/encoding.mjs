// Values as JSON, and back: inputs of calls, answers and results. What a script changes in the language's own objects
// does not change how the frames are written.

import { types } from "node:util";

const { stringify, parse } = JSON;
const { keys, getPrototypeOf, getOwnPropertyNames, getOwnPropertySymbols } = Object;
const objectPrototype = Object.prototype;
const isArray = Array.isArray;
const MAX_SAFE = Number.MAX_SAFE_INTEGER;
const MAX_EXACT = 2n ** 53n;
const MAX_DEPTH = 200;
const NOT_TEXT = "the text is not valid Unicode: it has half of a surrogate pair, or bytes that are not UTF-8";

function beyond(n) {
  return n > MAX_EXACT || n < -MAX_EXACT;
}

/** NotData says why a value of an input is not JSON, and where in the whole it is. */
export class NotData extends Error {
  constructor(why, hint, path, received, expected = received === undefined ? undefined : "JSON data") {
    super(why);
    this.hint = hint;
    this.path = path;
    this.received = received;
    this.expected = expected;
  }
}

/** kindOf names what a value is. */
export function kindOf(v) {
  if (isArray(v)) return "Array";
  return typeof v === "object" ? "Object" : typeof v;
}

/** plain returns the JSON of data of our own. */
export function plain(v) {
  if (v === null || v === undefined) return "null";
  if (typeof v !== "object") return typeof v === "string" ? stringify(v.toWellFormed()) : stringify(v);
  const parts = [];
  if (isArray(v)) {
    for (let i = 0; i < v.length; i++) parts[i] = plain(v[i]);
    return `[${parts.join(",")}]`;
  }
  const names = keys(v);
  for (let i = 0; i < names.length; i++) if (v[names[i]] !== undefined) parts[parts.length] = `${stringify(names[i])}:${plain(v[names[i]])}`;
  return `{${parts.join(",")}}`;
}

/** input returns the JSON of an input of a call, or throws NotData: nothing in it is silently changed. */
export function input(v) {
  return part(v, "", new Set());
}

function part(v, path, open) {
  switch (typeof v) {
    case "boolean":
      return v ? "true" : "false";
    case "bigint":
      return v.toString();
    case "number":
      if (!Number.isFinite(v)) throw new NotData(`${v} is not a JSON number`, "Check what it was computed from; null says that there is no value.", path, "number");
      // Beyond 2^53 it may stand for several integers: the exponent says that it is not taken for one.
      return Math.abs(v) > MAX_SAFE && Number.isInteger(v) ? v.toExponential() : stringify(v);
    case "string":
      if (!v.isWellFormed()) {
        throw new NotData(NOT_TEXT, 'Cut texts between characters: [...text].slice(0, n).join(""). text.toWellFormed() replaces what is cut apart.', path, "string");
      }
      return stringify(v);
    case "symbol":
      throw new NotData("a symbol is not data", "Give a string.", path, "symbol");
    case "function":
      throw new NotData(...lossOf(v).slice(0, 2), path, "function");
    case "undefined":
      if (/^\/filter\//.test(path)) throw new NotData("undefined is not a condition", "Leave the member out to ask for nothing, or compare with null.", path, "undefined");
      return undefined;
  }
  return v === null ? "null" : composite(v, path, open);
}

function composite(v, path, open) {
  if (open.has(v)) throw new NotData("an object inside itself cannot be written as JSON", "Leave it out; refer to an entity by its id.", path, "Object");
  if (open.size > MAX_DEPTH) throw new NotData(`the input is nested deeper than ${MAX_DEPTH} levels`, "Give flatter data.", path.slice(0, 100), "Object");
  if (types.isDate(v)) {
    if (Number.isNaN(v.getTime())) throw new NotData("an invalid Date has no time", "Check what the Date was made of: RFC 3339, such as 2026-01-31T08:00:00Z.", path, "Date");
    return stringify(v.toISOString());
  }
  if (types.isNumberObject(v) || types.isStringObject(v) || types.isBooleanObject(v)) return part(v.valueOf(), path, open);
  open.add(v);
  try {
    const { toJSON } = v;
    if (typeof toJSON === "function" && toJSON !== objectPrototype.toJSON) return part(v.toJSON(), path, open);
    const loss = lossOf(v);
    if (loss) throw new NotData(loss[0], loss[1], path, loss[2] ?? "Object");
    const parts = [];
    if (isArray(v)) {
      for (let i = 0; i < v.length; i++) parts[i] = part(v[i], `${path}/${i}`, open) ?? "null";
      return `[${parts.join(",")}]`;
    }
    const names = keys(v);
    for (let i = 0; i < names.length; i++) {
      const text = part(v[names[i]], `${path}/${names[i].slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`, open);
      if (text !== undefined) parts[parts.length] = `${stringify(names[i])}:${text}`;
    }
    return `{${parts.join(",")}}`;
  } finally {
    open.delete(v);
  }
}

const spreadIt = "Spread it into a plain object, {...x}, and add what a spread leaves out: members of its class or prototype.";

/** lossOf returns why the JSON of an object lacks content, what to write instead, and its kind. */
export function lossOf(v) {
  if (typeof v === "function") return ["a function is not data", 'Give the value; in a filter use operators, such as {name: {$icontains: "milk"}}.'];
  const emptied = emptiedAs(v);
  if (emptied) return [`${emptied[0]} is not data`, emptied[1]];
  if (types.isRegExp(v)) return ["a regular expression is not data", "Filter texts with $contains, $icontains, $startsWith or $endsWith.", "RegExp"];
  if (types.isProxy(v)) return ["a Proxy is not data", "Give the object behind it, or spread it into a plain one: {...x}."];
  if (ArrayBuffer.isView(v)) return ["the JSON of a typed array is not an array", "Give Array.from(x)."];
  if (isArray(v)) return null;
  const proto = getPrototypeOf(v);
  // A module's namespace has none; an object of another realm (package vm) has that realm's.
  if (proto !== null && proto !== objectPrototype && getPrototypeOf(proto) !== null) {
    return ["only plain objects and arrays are data, not an instance of a class or an object with a prototype of its own", spreadIt];
  }
  const own = getOwnPropertyNames(v);
  const shown = keys(v);
  if (own.length > shown.length) {
    const hidden = own.find((name) => !shown.includes(name) && name !== "$raw");
    if (hidden !== undefined) return [`the member ${stringify(hidden)} is not enumerable, so it is not in the JSON`, spreadIt];
  }
  if (getOwnPropertySymbols(v).length > 0) return ["a member named by a symbol is not in the JSON", "Name members by strings."];
  return null;
}

/** emptiedAs names an object whose JSON is {} although it has content, and says what to use instead. */
export function emptiedAs(v) {
  if (types.isNativeError(v)) return ["an Error", "Give its message: error.message."];
  if (types.isPromise(v)) return ["a promise", "Await it first."];
  if (types.isMap(v)) return ["a Map", "Give Object.fromEntries(map)."];
  if (types.isSet(v)) return ["a Set", "Give [...set]."];
  if (types.isAnyArrayBuffer(v)) return ["an ArrayBuffer", "Give Array.from(new Uint8Array(buffer))."];
  if (types.isWeakMap(v) || types.isWeakSet(v)) return ["a WeakMap or a WeakSet", "Its content cannot be listed: keep it in a Map or a Set."];
  return null;
}

/**
 * passed returns the JSON of what a script passes on: undefined if it has none. warn is told of what becomes {}. A
 * script's own getter or toJSON may throw.
 */
export function passed(value, what, warn) {
  let replaced = false;
  const raw = stringify(value, function (key, v) {
    if (typeof v === "bigint") return beyond(v) ? v.toString() : Number(v);
    if (typeof v === "string") {
      replaced ||= !v.isWellFormed();
      return v.toWellFormed();
    }
    if (typeof v === "object" && v !== null) {
      const loss = emptiedAs(v);
      if (loss) warn(`${key === "" ? what : `\`${key.slice(0, 100)}\` in ${what}`} is ${loss[0]}, whose JSON is {}. ${loss[1]}`);
    }
    return v;
  });
  if (replaced) warn(`in ${what}, at "${notText(value, "", 0)}": ${NOT_TEXT}. U+FFFD takes its place.`);
  return raw;
}

/** notText returns where in data there is a string that is not text, as far as plain data goes. */
function notText(v, path, depth) {
  if (typeof v === "string") return v.isWellFormed() ? undefined : path;
  if (typeof v !== "object" || v === null || depth > MAX_DEPTH) return undefined;
  for (const name of keys(v)) {
    const found = notText(v[name], `${path}/${name.slice(0, 100).replaceAll("~", "~0").replaceAll("/", "~1")}`, depth + 1);
    if (found !== undefined) return found;
  }
  return depth === 0 ? "" : undefined;
}

const LONG = /[0-9]{16}/;
const TOKENS = /"(?:[^"\\]|\\.)*"|-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?/g;

/** decode returns the value of JSON from the host. Integers beyond 2^53 are strings of digits. */
export function decode(text) {
  if (!LONG.test(text)) return parse(text);
  return parse(text.replace(TOKENS, (token) => (/^-?[0-9]{16,}$/.test(token) && beyond(BigInt(token)) ? `"${token}"` : token)));
}

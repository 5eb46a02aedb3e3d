// What is not deterministic, made so: the clock, timers' time, and random numbers. The clock starts at the job's time,
// advances with calls and waits, and by a microsecond per reading; random numbers come from the job's seed. Another
// attempt and a replay see the same.

import crypto from "node:crypto";
import { syncBuiltinESMExports } from "node:module";
import perf from "node:perf_hooks";

const RealDate = Date;

/** clock is the script's time, in microseconds since 1970. */
export const clock = {
  start: 0,
  now: 0,
  read() {
    return ++this.now;
  },
  advance(us) {
    if (us > this.now) this.now = us;
  },
  sinceStartMs() {
    return Math.floor((this.now - this.start) / 1000);
  },
};

let state = [1, 2, 3, 4];

/** begin sets the clock and the seed (a BigInt) of a script. */
export function begin(nowMs, seed) {
  clock.start = clock.now = nowMs * 1000;
  state = [];
  for (let i = 0; i < 4; i++) { // splitmix64
    seed = BigInt.asUintN(64, seed + 0x9e3779b97f4a7c15n);
    let z = seed;
    z = BigInt.asUintN(64, (z ^ (z >> 30n)) * 0xbf58476d1ce4e5b9n);
    z = BigInt.asUintN(64, (z ^ (z >> 27n)) * 0x94d049bb133111ebn);
    state.push(Number((z ^ (z >> 31n)) & 0xffffffffn));
  }
}

/** next returns 32 random bits (sfc32). */
function next() {
  let [a, b, c, d] = state;
  const t = (a + b + d) | 0;
  state = [b ^ (b >>> 9), (c + (c << 3)) | 0, (((c << 21) | (c >>> 11)) + t) | 0, (d + 1) | 0];
  return t >>> 0;
}

function random() {
  return (next() * 0x200000 + (next() >>> 11)) / 2 ** 53;
}

/** fill fills bytes with random ones. */
function fill(bytes) {
  for (let i = 0; i < bytes.length; i++) bytes[i] = next() >>> 24;
  return bytes;
}

function view(buffer, offset = 0, size = undefined) {
  const bytes = ArrayBuffer.isView(buffer) ? new Uint8Array(buffer.buffer, buffer.byteOffset, buffer.byteLength) : new Uint8Array(buffer);
  return bytes.subarray(offset, size === undefined ? undefined : offset + size);
}

/** install has the language and Node's modules take time and random numbers from here. */
export function install() {
  installDate();
  const ms = () => (clock.read() - clock.start) / 1000;
  define(perf.performance, "now", ms);
  define(perf.performance, "timeOrigin", undefined, () => clock.start / 1000);
  define(process, "uptime", () => ms() / 1000);
  const hrtime = (since) => {
    const us = clock.read() - clock.start;
    let [s, ns] = [Math.floor(us / 1e6), (us % 1e6) * 1000];
    if (since) [s, ns] = ns < since[1] ? [s - since[0] - 1, ns - since[1] + 1e9] : [s - since[0], ns - since[1]];
    return [s, ns];
  };
  hrtime.bigint = () => BigInt(clock.read() - clock.start) * 1000n;
  define(process, "hrtime", hrtime);
  Math.random = random;
  installCrypto();
  syncBuiltinESMExports();
}

function define(object, name, value, get) {
  Object.defineProperty(object, name, get ? { get, configurable: true } : { value, writable: true, configurable: true });
}

function installDate() {
  const now = () => Math.floor(clock.read() / 1000);
  function ScriptDate(...args) {
    if (!new.target) return new RealDate(now()).toString();
    return Reflect.construct(RealDate, args.length > 0 ? args : [now()], new.target === ScriptDate ? RealDate : new.target);
  }
  Object.defineProperty(ScriptDate, "name", { value: "Date", configurable: true });
  Object.defineProperty(ScriptDate, "length", { value: 7, configurable: true });
  Object.setPrototypeOf(ScriptDate, Function.prototype);
  define(ScriptDate, "now", now);
  define(ScriptDate, "parse", RealDate.parse);
  define(ScriptDate, "UTC", RealDate.UTC);
  Object.defineProperty(ScriptDate, "prototype", { value: RealDate.prototype, writable: false });
  define(RealDate.prototype, "constructor", ScriptDate);
  define(globalThis, "Date", ScriptDate);
}

function installCrypto() {
  const later = (callback, make) => {
    const value = make();
    if (typeof callback !== "function") return value;
    process.nextTick(callback, null, value);
    return undefined;
  };
  const bytes = (size, callback) => later(callback, () => fill(Buffer.alloc(size)));
  const uuid = () => {
    const b = fill(new Uint8Array(16));
    b[6] = (b[6] & 0x0f) | 0x40;
    b[8] = (b[8] & 0x3f) | 0x80;
    const hex = Buffer.from(b).toString("hex");
    return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
  };
  const values = (array) => {
    if (!ArrayBuffer.isView(array)) throw new TypeError("getRandomValues needs a typed array");
    fill(view(array));
    return array;
  };
  const replaced = {
    randomBytes: bytes,
    pseudoRandomBytes: bytes,
    randomFillSync: (buffer, offset, size) => (fill(view(buffer, offset, size)), buffer),
    randomFill: (buffer, ...rest) => later(rest.pop(), () => (fill(view(buffer, ...rest)), buffer)),
    randomInt: (min, max, callback) => {
      if (max === undefined || typeof max === "function") [min, max, callback] = [0, min, max];
      return later(callback, () => min + Math.floor(random() * (max - min)));
    },
    randomUUID: uuid,
  };
  for (const [name, f] of Object.entries(replaced)) define(crypto, name, f);
  const proto = Object.getPrototypeOf(crypto.webcrypto);
  define(proto, "getRandomValues", values);
  define(proto, "randomUUID", uuid);
}

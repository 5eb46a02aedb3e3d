// What a script says: console, process.stdout and process.stderr, and SDK.Out.

import { Console } from "node:console";
import fs from "node:fs";
import { syncBuiltinESMExports } from "node:module";
import { Readable, Writable } from "node:stream";
import { format, types } from "node:util";

import { Kind } from "./channel.mjs";
import { passed, plain } from "./encoding.mjs";
import { KoanError } from "./errors.mjs";
import { describe } from "./session.mjs";
import { clock } from "./tape.mjs";

const MAX_EMITTED = 100;
const MAX_FILES = 32;
const MAX_WARNINGS = 20;
const MAX_PROGRESS = 2000;

/** log adds an entry to the run's logs, unless they are full. */
export function log(session, level, message) {
  const { limits, logs } = session;
  if (logs.entries > limits.maxLogEntries || logs.bytes > limits.maxLogBytes) return;
  logs.entries++;
  const text = message.slice(0, limits.maxLogMessageBytes + 1);
  logs.bytes += text.length;
  session.channel.write(Kind.LOG, 0, plain({ level, message: text, timeMs: clock.sinceStartMs() }));
}

/** shown returns values as a log shows them: texts as they are, data as JSON. */
export function shown(values) {
  if (typeof values[0] === "string" && values.length > 1 && /%[sdifjoOc]/.test(values[0])) return format(...values);
  return values.map(display).join(" ");
}

function display(v) {
  switch (typeof v) {
    case "string":
      return v;
    case "function":
      return `[function ${v.name}]`;
    case "object":
      break;
    default:
      return String(v);
  }
  if (v === null) return "null";
  if (types.isNativeError(v)) return describe(v);
  if (types.isPromise(v)) return "[a promise: await it first]";
  try {
    return JSON.stringify(v, visible) ?? String(v);
  } catch {
    return "[Unserializable Object]";
  }
}

/** visible is the replacer of the JSON in logs: it shows the content of what is {} in JSON. */
function visible(key, v) {
  if (typeof v === "bigint") return v.toString();
  if (typeof v === "function") return v.name === key ? "[function]" : `[function ${v.name}]`;
  if (types.isMap(v) || types.isSet(v)) return [...v];
  if (types.isNativeError(v) || types.isRegExp(v)) return String(v);
  if (types.isPromise(v)) return "[a promise: await it first]";
  return v;
}

/** Lines is a stream whose lines are entries of the logs. */
class Lines extends Writable {
  #rest = "";
  #log;

  constructor(log) {
    super({ decodeStrings: false });
    this.#log = log;
  }

  _write(chunk, encoding, callback) {
    this.take(typeof chunk === "string" ? chunk : chunk.toString());
    callback();
  }

  take(text) {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop();
    for (const line of lines) this.#log(line);
  }

  finish() {
    if (this.#rest !== "") this.#log(this.#rest);
    this.#rest = "";
  }
}

/** Capture has console and the standard streams be logs: of the script that it is told of. */
export class Capture {
  #session = null;
  #streams;

  constructor() {
    this.#streams = captured((level, message) => this.#session !== null && log(this.#session, level, message));
  }

  serve(session) {
    this.#session = session;
  }

  /** flush passes on lines that have not ended. */
  flush() {
    for (const stream of this.#streams) stream.finish();
  }
}

/** captured replaces console and the standard streams, and returns the streams. */
function captured(add) {
  const out = new Lines((line) => add("info", line));
  const err = new Lines((line) => add("warn", line));
  const getter = (value) => ({ get: () => value, configurable: true, enumerable: true });
  Object.defineProperty(process, "stdout", getter(out));
  Object.defineProperty(process, "stderr", getter(err));
  Object.defineProperty(process, "stdin", getter(Readable.from([])));
  replaceWrites({ 1: out, 2: err });
  const grouped = [];
  const say = (level) => (...values) => add(level, grouped.join("") + shown(values));
  const whole = (level) => new Writable({
    decodeStrings: false,
    write: (chunk, encoding, callback) => {
      add(level, String(chunk).replace(/\n$/, ""));
      callback();
    },
  });
  const own = new Console({ stdout: whole("info"), stderr: whole("warn"), colorMode: false });
  for (const name of ["table", "dir", "dirxml", "count", "countReset", "time", "timeLog", "timeEnd"]) console[name] = own[name].bind(own);
  for (const [name, level] of Object.entries({ log: "info", info: "info", debug: "debug", warn: "warn", error: "error", trace: "debug" })) console[name] = say(level);
  console.assert = (holds, ...rest) => holds || add("error", `Assertion failed${rest.length > 0 ? `: ${shown(rest)}` : ""}`);
  console.group = console.groupCollapsed = (...label) => {
    if (label.length > 0) console.log(...label);
    grouped.push("  ");
  };
  console.groupEnd = () => void grouped.pop();
  return [out, err];
}

/** replaceWrites has what is written to the descriptors of standard output and standard error be logs. */
function replaceWrites(streams) {
  const real = fs.writeSync;
  fs.writeSync = (fd, data, ...rest) => {
    const stream = streams[fd];
    if (stream === undefined) return real(fd, data, ...rest);
    const text = typeof data === "string" ? data : Buffer.from(data.buffer, data.byteOffset, data.byteLength).toString();
    stream.take(text);
    return Buffer.byteLength(text);
  };
  const later = fs.write;
  fs.write = (fd, data, ...rest) => {
    if (streams[fd] === undefined) return later(fd, data, ...rest);
    const written = fs.writeSync(fd, data);
    return process.nextTick(rest.pop(), null, written, data);
  };
  const file = fs.writeFileSync;
  fs.writeFileSync = (path, data, ...rest) => (streams[path] === undefined ? file(path, data, ...rest) : void fs.writeSync(path, data));
  syncBuiltinESMExports();
}

/** passOn returns the JSON of what a script passes on. If there is none, or it is too large, the run ends. */
export function passOn(session, value, what) {
  const most = session.limits.maxResultBytes;
  const warnings = [];
  let raw;
  try {
    raw = passed(value, what, (w) => warnings.length < MAX_WARNINGS && warnings.push(w));
  } catch (e) {
    if (!(e instanceof TypeError || e instanceof RangeError) || /script\.mjs/.test(String(e.stack).split("\n")[1])) throw e;
    const fault = session.fault("script_error", `${what} is not JSON: ${describe(e).split("\n")[0]}`, {
      hint: "Give plain data, and what an object refers to only once. End the script with `undefined` to return nothing.",
    });
    session.finishWith(fault, new Error());
  }
  if (raw !== undefined && Buffer.byteLength(raw) > most) session.finishWith(session.fault("result_too_large", `${what} is larger than ${most} bytes`), new Error());
  for (const w of warnings) log(session, "warn", w);
  return raw;
}

/** outOf returns SDK.Out. */
export function outOf(session) {
  const level = (name) => (...values) => log(session, name, shown(values));
  return Object.freeze({
    answer(value) {
      session.answer = passOn(session, value, "the answer") ?? "null";
    },
    info: level("info"),
    warn: level("warn"),
    error: level("error"),
    progress(done, total = 0, message = "") {
      if (!Number.isFinite(Number(done))) return;
      const body = { done: Number(done), total: Number.isFinite(Number(total)) ? Number(total) : 0, message: display(message).slice(0, MAX_PROGRESS) };
      session.channel.write(Kind.PROGRESS, 0, plain(body));
    },
    emit(value) {
      const raw = passOn(session, value, "the emitted value") ?? "null";
      const of = session.emitted;
      of.count++;
      of.bytes += Buffer.byteLength(raw);
      const most = session.limits.maxResultBytes;
      if (of.count > MAX_EMITTED) throw session.error("result_too_large", `the script emits more than ${MAX_EMITTED} values`, { hint: "Emit a summary of several steps at a time." });
      if (of.bytes > most) throw session.error("result_too_large", `the emitted values are larger than ${most} bytes together`, { hint: "Emit less: ids and counts instead of whole rows." });
      session.channel.write(Kind.EMIT, 0, raw);
    },
    file(file) {
      const id = typeof file === "object" && file !== null ? file.id : file;
      if (session.files.length === MAX_FILES) {
        throw session.error("result_too_large", `the result has ${MAX_FILES} files, and cannot have more`, { hint: "Return the ids of further files in the answer." });
      }
      const found = session.call("plugin::files.get", { id });
      session.files.push(String(id));
      return found;
    },
  });
}

export { KoanError };

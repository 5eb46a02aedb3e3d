// One script's way to its host, and its end.

import { types } from "node:util";

import { Kind, Status } from "./channel.mjs";
import { decode, input, NotData, plain } from "./encoding.mjs";
import { classes, KoanError } from "./errors.mjs";
import { clock } from "./tape.mjs";

/** SCRIPT is the module that a script is. */
export const SCRIPT = "/workspace/script.mjs";

const MAX_MESSAGE = 2000;
const MAX_DETAILS = 16 << 10;
const CONFINED = "Scripts have no network, no other process and no file outside /workspace. Reach others by the tools of servers.";
const REFUSED = new Set(["EPERM", "EACCES", "EROFS", "EAI_AGAIN", "ENOTFOUND"]);
const FRAME = /\(?(?:file:\/\/)?\/workspace\/script\.mjs(?:\?[^:)]*)?:(\d+):(\d+)\)?$/;

/** Session is a script that runs: its job, its calls, and what it has answered so far. */
export class Session {
  answer = undefined; // JSON
  files = [];
  emitted = { count: 0, bytes: 0 };
  logs = { entries: 0, bytes: 0 };
  columns = null; // maps positions in the module to the script's (Program)
  explain = null; // what a check says about the script (check.mjs)
  #ended = false;
  #paths = new WeakMap(); // of the faults of errors: an error names the first of several problems, a fault none of them

  constructor(channel, job, bindings, vocabulary, exit) {
    this.channel = channel;
    this.job = job;
    this.limits = job.limits;
    this.bindings = bindings;
    this.vocabulary = vocabulary;
    this.exit = exit;
    this.lines = job.code.split(/\r\n|[\n\r\u2028\u2029]/);
  }

  /** call makes a call of SDK and returns its output, or throws its fault. */
  call(operation, members) {
    return this.output(this.channel.call(operation, this.input(members)), operation);
  }

  /** input returns the JSON of a call's input. */
  input(members) {
    const raw = this.checked(() => input(members));
    const most = this.limits.maxCallBytes;
    if (raw.length > most) {
      throw this.error("call_too_large", `the arguments of this call are larger than ${most} bytes`, { hint: "Send less in one call: fewer rows, or less in each." });
    }
    return raw;
  }

  /** checked returns what make does; where that is NotData, a call's input is the fault. */
  checked(make) {
    try {
      return make();
    } catch (e) {
      if (!(e instanceof NotData)) throw e;
      const { message, path, expected, received } = e;
      throw this.error("invalid_payload", message, { hint: e.hint, path, details: [{ path, message, expected, received }] });
    }
  }

  /** output returns what a call returned, or throws its fault; a fault that ends the run ends it here. */
  output(reply, operation, tool) {
    clock.advance(reply.nowMs * 1000);
    if (reply.status === Status.OK) return decode(reply.body);
    const fault = JSON.parse(reply.body);
    if (reply.status === Status.ENDS) this.finishWith(fault, new Error());
    throw this.errorOf(fault, operation, tool);
  }

  /** fault returns a fault with the registry's hint. */
  fault(code, message, members = {}) {
    const entry = this.vocabulary.faults[code];
    return { code, message, hint: members.hint || entry.hint, retry: members.retry || entry.retry, path: members.path, details: members.details };
  }

  /** error returns the error of a fault that is found here. One that ends the run ends it. */
  error(code, message, members = {}) {
    const fault = this.fault(code, message, members);
    if (this.vocabulary.faults[code].endsRun) this.finishWith(fault, new Error());
    return this.errorOf(fault);
  }

  /** errorOf returns the error that a fault is thrown as. tool has the server's id, the tool's name and its export. */
  errorOf(fault, operation = "", tool = undefined) {
    let name = "KoanError";
    if (tool !== undefined || /^(?:whole:|files:)?upstream::/.test(operation)) {
      name = this.vocabulary.faults[fault.code]?.class ?? "CodemodeError";
      if (name === "CodemodeError" && (tool === undefined || tool.toolName !== undefined)) name = "ToolCallError";
    }
    const first = Array.isArray(fault.details) && fault.code === "invalid_payload" ? fault.details[0] : undefined;
    const e = new (classes[name] ?? KoanError)(fault.message, { ...fault, ...(tool && first ? { path: first.path, expected: first.expected, received: first.received } : {}), ...tool });
    this.#paths.set(e, fault.path);
    if (fault.line) e.at = { line: fault.line, column: fault.column };
    return e;
  }

  /** finish sends the outcome and ends the process: nothing of the script runs after it. */
  finish(result) {
    if (this.#ended) this.exit(0);
    this.#ended = true;
    result = { __proto__: null, ...result };
    let text = `{"files":${plain(this.files)}`;
    if (result.result !== undefined) text += `,"result":${result.result}`;
    if (this.answer !== undefined) text += `,"answer":${this.answer}`;
    if (result.fault !== undefined) text += `,"fault":${plain(result.fault)}`;
    if (result.diagnostics !== undefined) text += `,"diagnostics":${plain(result.diagnostics)}`;
    this.channel.write(Kind.RESULT, 0, `${text}}`);
    this.exit(0);
  }

  /** finishWith ends the script with a fault; the place of it is where an error was made. */
  finishWith(fault, at) {
    if (at !== undefined && !fault.line) this.#locate(fault, at);
    this.finish({ fault: clipped(fault) });
  }

  /** faultOf returns the fault of what a script threw and nothing caught. */
  faultOf(thrown) {
    let fault;
    if (thrown instanceof KoanError && thrown.code !== "script_error" && this.vocabulary.faults[thrown.code] !== undefined) {
      fault = this.#known(thrown);
    } else {
      const message = describe(thrown);
      fault = /Array buffer allocation failed/.test(message) ? this.fault("memory_exceeded", memoryMessage(this.limits), { details: { limitBytes: this.limits.memoryBytes } }) : this.fault("script_error", message);
      if (isConfined(thrown)) fault.hint = CONFINED;
      const details = this.#details(thrown);
      if (fault.details === undefined && Object.keys(details).length > 0) fault.details = details;
    }
    if (!fault.line) this.#locate(fault, thrown);
    if (fault.code === "script_error") this.explain?.(fault);
    return clipped(fault);
  }

  #known(e) {
    const { code } = e;
    const path = this.#paths.has(e) ? this.#paths.get(e) : e.path;
    const retry = ["safe", "fix", "never"].includes(e.retry) ? e.retry : this.vocabulary.faults[code].retry;
    const fault = { code, message: String(e.message), hint: String(e.hint || this.vocabulary.faults[code].hint), retry, path: path === undefined || path === null ? undefined : String(path), details: e.details };
    if (e.at) Object.assign(fault, e.at);
    if (fault.line) fault.source = this.#source(fault.line);
    return fault;
  }

  /** lineOf returns the script's line in which an error was made, 0 if that is not known. */
  lineOf(e) {
    const [frame] = stackOf(e);
    if (frame === undefined) return 0;
    return this.columns ? this.columns(frame.line, frame.column).line : frame.line;
  }

  #locate(fault, e) {
    const frames = stackOf(e);
    if (frames.length > 0) this.placeAt(fault, frames[0].line, frames[0].column);
  }

  /** placeAt sets line, column and source of a fault by a position in the module. */
  placeAt(fault, line, column) {
    this.place(fault, this.columns ? this.columns(line, column) : { line, column });
  }

  /** place sets line, column and source of a fault by a position in the script's text. */
  place(fault, at) {
    if (at.line < 1 || at.line > this.lines.length) return;
    fault.line = at.line;
    fault.column = at.column;
    fault.source = this.#source(at.line);
  }

  #source(line) {
    return (this.lines[line - 1] ?? "").trim().slice(0, 200).toWellFormed();
  }

  #details(thrown) {
    const details = {};
    const frames = stackOf(thrown).map((f) => `${f.name || "script"} (${this.columns ? this.columns(f.line, f.column).line : f.line})`);
    const most = this.limits.maxStackFrames;
    if (frames.length > 0) details.stack = frames.length > most ? [...frames.slice(0, most), `… ${frames.length - most} more`] : frames;
    const causes = [];
    for (let cause = causeOf(thrown); cause !== undefined && causes.length < 5; cause = causeOf(cause)) causes.push({ message: describe(cause).slice(0, 500) });
    if (causes.length > 0) details.causes = causes;
    if (thrown instanceof AggregateError && Array.isArray(thrown.errors)) details.errors = thrown.errors.slice(0, 10).map((e) => ({ message: describe(e).slice(0, 500) }));
    return details;
  }
}

/** memoryMessage is the message of the fault of a script that uses too much memory. */
export function memoryMessage(limits) {
  return `the script used more than ${Math.floor(limits.memoryBytes / (1 << 20))} MB of memory (sandbox.memoryMb, limits.maxMemoryBytes)`;
}

/** isConfined reports whether a system error is one of a script that reached for what is not there. */
function isConfined(e) {
  for (let at = e, depth = 0; at !== undefined && depth < 5; at = causeOf(at), depth++) {
    let code, path;
    try {
      ({ code, path } = Object(at));
    } catch {
      return false;
    }
    if (REFUSED.has(code) || (code === "ENOENT" && typeof path === "string" && path.startsWith("/") && !path.startsWith("/workspace"))) return true;
  }
  return false;
}

function causeOf(e) {
  try {
    return types.isNativeError(e) ? e.cause : undefined;
  } catch {
    return undefined;
  }
}

/** stackOf returns the frames of an error that are in the script. */
function stackOf(e) {
  let text;
  try {
    text = types.isNativeError(e) ? e.stack : undefined;
  } catch {
    return [];
  }
  if (typeof text !== "string") return [];
  const frames = [];
  for (const line of text.slice(0, 64 << 10).split("\n")) {
    const m = FRAME.exec(line);
    if (!m) continue;
    const name = /^\s*at (?:async )?(?:new )?([^\s(]+) \(/.exec(line);
    frames.push({ line: Number(m[1]), column: Number(m[2]), name: name ? name[1].slice(0, 100) : "" });
  }
  return frames;
}

/** describe returns a text for what a script threw, whatever its own toString does. */
export function describe(v) {
  let text;
  try {
    if (types.isNativeError(v)) {
      const name = String(v.name ?? "Error");
      const message = String(v.message ?? "");
      text = message === "" ? name : name === "" ? message : `${name}: ${message}`;
    } else if (v === null || v === undefined) {
      text = `${v} was thrown`;
    } else if (typeof v === "object" && v.toString === Object.prototype.toString) {
      text = `${JSON.stringify(v) ?? String(v)} was thrown`;
    } else {
      text = String(v);
    }
  } catch {
    text = "the thrown value cannot be converted to text";
  }
  return text.slice(0, MAX_MESSAGE).toWellFormed();
}

/** clipped returns a fault that fits into the frame of a result. */
function clipped(fault) {
  for (const [name, most] of [["message", 2 * MAX_MESSAGE], ["hint", MAX_MESSAGE], ["path", MAX_MESSAGE]]) {
    if (fault[name] !== undefined) fault[name] = String(fault[name]).slice(0, most).toWellFormed();
  }
  if (fault.path === "") delete fault.path;
  if (fault.details !== undefined) {
    try {
      const raw = input(fault.details);
      if (raw === undefined || raw.length > MAX_DETAILS) delete fault.details;
      else fault.details = JSON.parse(raw);
    } catch {
      delete fault.details;
    }
  }
  return fault;
}

// Running one script to its end.

import { writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { types } from "node:util";

import { explain } from "./check.mjs";
import { use } from "./client.mjs";
import { KoanError } from "./errors.mjs";
import { absent, problemsOf } from "./imports.mjs";
import { Loop } from "./loop.mjs";
import { Capture, passOn } from "./output.mjs";
import { compile, HOOK, ScriptError } from "./program.mjs";
import { build } from "./sdk.mjs";
import { Servers, writeCommon } from "./servers.mjs";
import { SCRIPT } from "./session.mjs";

// As they are before a script changes them.
const emit = process.emit.bind(process), listenerCount = process.listenerCount.bind(process);
const NAME = /^[\p{L}$_][\p{L}\p{M}\p{Nd}$_]*$/u;
const RESULT = "__codemode_result__";

/** Stage is what a script runs on, made before there is one. */
export class Stage {
  loop = new Loop();
  output = new Capture();
  require = createRequire(SCRIPT);

  constructor() {
    writeCommon();
    this.loop.install();
  }

  /** run runs a job's script, and ends the process with its outcome. */
  run(session) {
    new Execution(session, this).begin();
  }
}

/** Hook is what a compiled script tells of itself. */
class Hook {
  last = undefined;
  entry = undefined;
  returned = undefined;
  ran = false;
  awaited = undefined; // the place of the last await
  #thrown = undefined; // the last value that is no error, with its place

  throws(line, column, value) {
    if (!types.isNativeError(value)) this.#thrown = { line, column, value };
    return value;
  }

  /** awaits notes where the script begins to wait: at its top level, or in a function while nothing is awaited there. */
  awaits(line, column, top, value) {
    if (top || this.awaited?.top !== true) this.awaited = { line, column, top };
    return value;
  }

  /** caught forgets what was thrown: the same value may be what a promise is rejected with later, at no known place. */
  caught() {
    this.#thrown = undefined;
  }

  /** placeOf returns where a value was thrown, undefined if nothing knows. */
  placeOf(value) {
    return this.#thrown !== undefined && Object.is(this.#thrown.value, value) ? this.#thrown : undefined;
  }
}

/** Execution is one run of a script. */
class Execution {
  #session;
  #program = null;
  #servers;
  #stage;
  #hook = new Hook();
  #rejected = new Map(); // what promises that nothing handles were rejected with
  #settled = false;
  #emptied = false; // beforeExit was emitted for the script
  #left = false; // exit was
  #value = undefined;

  constructor(session, stage) {
    this.#session = session;
    this.#stage = stage;
    this.#servers = new Servers(session, stage.loop);
  }

  begin() {
    const { job } = this.#session;
    const named = job.entryFunction ?? "";
    if (named !== "" && !NAME.test(named)) this.#notAFunction(named, "is not the name of a function");
    try {
      this.#program = compile(job.code, named);
    } catch (e) {
      if (!(e instanceof ScriptError)) throw e;
      const fault = this.#session.fault("syntax_error", e.message);
      this.#session.placeAt(fault, e.line, e.column);
      this.#session.finishWith(fault);
    }
    this.#session.columns = this.#program.at;
    this.#session.explain = (fault) => explain(this.#session, this.#program.tree, fault);
    checkImports(this.#session, this.#servers, this.#program.imports);
    this.#globals();
    this.#servers.write(memberNames(this.#program.tree));
    writeFileSync(SCRIPT, this.#program.text);
    this.#stage.loop.serve(this.#session, () => this.#idle());
    this.#execute().then(
      (value) => {
        this.#settled = true;
        this.#value = value;
      },
      (e) => this.#fail(e),
    );
  }

  #globals() {
    const session = this.#session;
    const define = (name, value, enumerable = false) => Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable });
    Object.defineProperty(globalThis, "SDK", { value: build(session) });
    Object.defineProperty(globalThis, HOOK, { value: this.#hook });
    define("KoanError", KoanError);
    define(RESULT, undefined);
    define("result", undefined); // so that a module can assign it by its name
    define("require", this.#stage.require);
    use(this.#servers);
    if (session.job.callTool) define("callTool", (id, params) => this.#servers.callById(id, params));
    this.#stage.output.serve(session);
    const leave = (status = process.exitCode ?? 0) => {
      this.#stage.output.flush();
      if (Number(status) !== 0) this.#leaveWith(status, new Error());
      process.exitCode = 0;
      this.#finish(this.#assigned());
    };
    process.exit = process.reallyExit = leave;
    process.abort = () => session.finishWith(session.fault("script_error", "the script aborted its process"), new Error());
    if (process.execve) { // which aborts where the system refuses it
      process.execve = () => {
        throw Object.assign(new Error("execve EPERM: scripts start no program"), { code: "EPERM" });
      };
    }
    process.setUncaughtExceptionCaptureCallback((e) => this.#fail(e));
    process.on("unhandledRejection", (reason, promise) => this.#rejected.set(promise, reason));
    process.on("rejectionHandled", (promise) => this.#rejected.delete(promise));
  }

  /** #execute runs the script with its entry function, and returns its value. */
  async #execute() {
    const module = await import(SCRIPT);
    const p = this.#program;
    const hook = this.#hook;
    let value = await hook.returned;
    if (value === undefined) value = await nativeOnly(hook.last);
    if (p.lone && typeof value === "function") value = await nativeOnly(value());
    if (module.default !== undefined) value = typeof module.default === "function" ? await nativeOnly(module.default()) : module.default;
    if (p.named && typeof hook.entry !== "function") this.#notAFunction(p.entry, "is not a function of the script");
    if (typeof hook.entry === "function" && hook.returned === undefined && (p.named || !hook.ran)) {
      const entry = hook.entry;
      value = await nativeOnly(entry());
    }
    return value;
  }

  #notAFunction(name, why) {
    const message = `\`${name.slice(0, 100)}\` ${why}`;
    this.#session.finishWith(this.#session.fault("invalid_payload", message, { path: "/entryFunction", details: [{ path: "/entryFunction", message }] }));
  }

  /** #idle ends the script: nothing is left that could go on. */
  #idle() {
    this.#stage.output.flush();
    for (const reason of this.#rejected.values()) this.#fail(reason);
    if (!this.#settled) {
      const fault = this.#session.fault("never_settled", "the script waits for something that never happens");
      if (this.#hook.awaited !== undefined) this.#session.place(fault, this.#hook.awaited);
      this.#session.finishWith(fault);
    }
    if (!this.#emptied && listenerCount("beforeExit") > 1) { // those of the script come after this one
      this.#emptied = true;
      setImmediate(() => {});
      return;
    }
    const status = process.exitCode ?? 0;
    if (Number(status) !== 0) this.#leaveWith(status);
    this.#servers.warnOfOpen();
    const assigned = this.#assigned();
    if (assigned instanceof Promise && assigned !== this.#value) {
      this.#settled = false;
      assigned.then(
        (value) => {
          this.#settled = true;
          globalThis[RESULT] = value;
        },
        (e) => this.#fail(e),
      );
      setImmediate(() => {});
      return;
    }
    this.#finish(assigned === undefined ? this.#value : assigned);
  }

  /** #assigned is what the script has assigned to a global as its result. */
  #assigned() {
    const { job } = this.#session;
    if (job.module) return globalThis[RESULT] ?? null;
    return globalThis[RESULT] !== undefined ? globalThis[RESULT] : globalThis.result;
  }

  #finish(value) {
    let result;
    try {
      result = passOn(this.#session, value, "the result");
    } catch (e) {
      this.#fail(e);
    }
    this.#exit(0);
    this.#session.finish({ result });
  }

  /** #exit emits the last event of the process, once: its listeners run as part of the script. */
  #exit(status) {
    if (this.#left) return;
    this.#left = true;
    process.exitCode = status;
    try {
      emit("exit", status);
    } catch (e) {
      this.#fail(e);
    }
    this.#stage.output.flush();
    if (status === 0 && Number(process.exitCode ?? 0) !== 0) this.#leaveWith(process.exitCode);
  }

  /** #leaveWith ends a script that ended itself with a status other than 0, at the place where at was made. */
  #leaveWith(status, at) {
    this.#exit(status);
    this.#session.finishWith(this.#session.fault("script_error", `the script ended with the status ${String(status).slice(0, 200)}`), at);
  }

  #fail(e) {
    this.#exit(1);
    this.#stage.output.flush();
    if (e?.code === "MODULE_NOT_FOUND" || e?.code === "ERR_MODULE_NOT_FOUND" || e?.code === "ERR_UNKNOWN_BUILTIN_MODULE") {
      this.#session.finishWith(absent(this.#session, String(/'([^']*)'/.exec(e.message)?.[1] ?? e.message), []), e);
    }
    if (e instanceof SyntaxError && /does not provide an export named/.test(e.message)) this.#session.finishWith(this.#session.fault("syntax_error", `SyntaxError: ${e.message}`), e);
    const fault = this.#session.faultOf(e);
    const at = this.#hook.placeOf(e);
    if (!fault.line && at !== undefined) this.#session.place(fault, at);
    this.#session.finishWith(fault);
  }
}

/** nativeOnly awaits a promise of the language; any other thenable is data. */
async function nativeOnly(v) {
  return v instanceof Promise ? await v : new Box(v).value();
}

/** Box keeps a thenable from being awaited on its way. */
class Box {
  constructor(v) {
    this.v = v;
  }

  value() {
    if (this.v !== null && typeof this.v === "object" && typeof this.v.then === "function") return { ...this.v, then: undefined };
    return this.v;
  }
}

/** memberNames returns the names of all members that a script reads. */
function memberNames(tree) {
  const names = new Set();
  const visit = (node) => {
    if (Array.isArray(node)) return node.forEach(visit);
    if (node === null || typeof node !== "object" || typeof node.type !== "string") return;
    if (node.type === "MemberExpression" && !node.computed && node.property.type === "Identifier") names.add(node.property.name);
    if (node.type === "ImportSpecifier" && node.imported.name) names.add(node.imported.name);
    for (const v of Object.values(node)) if (typeof v === "object") visit(v);
  };
  visit(tree);
  names.delete("default");
  return [...names].filter((n) => n !== "then");
}

/** checkImports ends a script that imports a module that is not there, or a name that one does not have. */
function checkImports(session, servers, imports) {
  for (const problem of problemsOf(session, servers, imports)) {
    const { fault, node } = problem;
    session.placeAt(fault, node.loc.start.line, node.loc.start.column + 1);
    session.finishWith(fault);
  }
}

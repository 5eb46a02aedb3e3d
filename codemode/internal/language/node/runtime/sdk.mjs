// SDK: entities, plugins, upstream servers. What methods do is data, which the host gives (package bind in Go).

import { types } from "node:util";

import { kindOf, lossOf, NotData } from "./encoding.mjs";
import { KoanError } from "./errors.mjs";
import { Items } from "./items.mjs";
import { outOf } from "./output.mjs";
import { didYouMean } from "./names.mjs";

/** OPTIONS is what the options of a method are. */
const OPTIONS = "object or string";

/** build returns SDK for a script. */
export function build(session) {
  const { bindings, job } = session;
  const sdk = { Entities: {}, Out: outOf(session), args: job.args ?? {}, run: Object.freeze({ id: job.runId ?? "", set: job.set ?? "", dryRun: Boolean(job.dryRun) }) };
  for (const e of bindings.entities ?? []) later(sdk.Entities, e.name, () => entity(session, e));
  for (const d of bindings.domains ?? []) later(sdk, d.name, () => domain(session, d));
  if ((bindings.upstreams ?? []).length > 0) {
    sdk.Servers = {};
    for (const d of bindings.upstreams) later(sdk.Servers, d.name, () => domain(session, d));
    Object.preventExtensions(sdk.Servers);
  }
  Object.preventExtensions(sdk.Entities);
  return Object.preventExtensions(sdk);
}

/** later defines a member that is made at its first use. */
function later(object, name, make) {
  let made;
  Object.defineProperty(object, name, { __proto__: null, get: () => (made ??= Object.freeze(make())), enumerable: true });
}

function entity(session, e) {
  const members = {};
  for (const op of e.ops ?? []) {
    for (const spec of session.vocabulary.methods[op] ?? []) members[spec.name] = method(session, `koan::${e.name}.${op}`, spec);
  }
  return members;
}

/** method returns a method that calls one operation of an entity. */
function method(session, operation, spec) {
  const call = (...args) => {
    const { given, bareSet } = session.checked(() => inputOf(spec, args));
    if (spec.walks) {
      const walk = pages(session, operation, given, spec.returns === "list");
      return spec.returns === "iterator" ? new Items(walk) : all(session, walk);
    }
    let out;
    try {
      out = session.call(operation, given);
    } catch (e) {
      if (!(e instanceof KoanError)) throw e;
      if (e.code === "not_found" && spec.returns === "entityOrNull") return null;
      if (e.code === "unknown_set" && bareSet) e.hint += " A bare string names the set; options are an object: {filter: {...}}.";
      else if (e.code === "not_found" && spec.orNull && e.hint === session.vocabulary.faults.not_found.hint) e.hint += ` ${spec.orNull} returns null instead of throwing.`;
      throw e;
    }
    return spec.output && typeof out === "object" && out !== null ? out[spec.output] : out;
  };
  Object.defineProperty(call, "name", { __proto__: null, value: spec.name });
  return call;
}

/** inputOf returns the input of the call that arguments mean, and whether a bare string was the set; NotData if they mean none. */
export function inputOf(spec, args) {
  const names = spec.arguments ?? [];
  const given = Object.fromEntries(spec.fixed ?? []);
  let positional = args.slice(0, names.length);
  let options = args[names.length];
  if (spec.loneSet && args.length === 1 && typeof args[0] === "string") [options, positional] = [args[0], []];
  else if (spec.loose && options === undefined && positional.length === names.length && isObject(positional[names.length - 1])) options = positional.pop();
  positional.forEach((v, i) => put(given, names[i], v));
  for (const [name, v] of Object.entries(membersOf(options))) put(given, name, v);
  if (spec.walks && (given.cursor ?? null) === null && given.page !== undefined) throw twice("page");
  return { given, bareSet: typeof options === "string" };
}

function isObject(v) {
  return (typeof v === "object" && v !== null) || typeof v === "function";
}

/** put adds a member unless it is undefined. */
function put(given, name, v) {
  if (v === undefined) return;
  if (name in given) throw twice(name);
  Object.defineProperty(given, name, { __proto__: null, value: v, enumerable: true });
}

function twice(name) {
  return new NotData(`\`${name}\` is given twice: as an argument and among the options`, "", `/${name}`);
}

/** membersOf returns the members of an input that options are: an object's own, or a string, which names the set. */
function membersOf(options) {
  if (options === undefined || options === null) return {};
  if (typeof options === "string") return { set: options };
  const loss = isObject(options) ? lossOf(options) : null;
  if (loss) throw new NotData(loss[0], loss[1], "", kindOf(options), OPTIONS);
  if (!isObject(options) || types.isDate(options) || types.isBoxedPrimitive(options) || Array.isArray(options)) {
    throw new NotData("the options are neither an object nor the name of a set", "", "", kindOf(options), OPTIONS);
  }
  return options;
}

/** pages goes through the items of a collection, page by page; the page is asked for when its first item is needed. */
function* pages(session, operation, given, counts) {
  const { walkPageSize, maxAll } = session.vocabulary;
  const size = given.pageSize ?? walkPageSize;
  let cursor = given.cursor ?? null;
  for (let page = 1; ; page++) {
    const members = { ...given, pageSize: size };
    if (cursor !== null) members.cursor = cursor;
    else members.page = page;
    members.count ??= counts && page === 1;
    const out = session.call(operation, members);
    if (counts && (out.totalCount ?? 0) > maxAll) throw tooMany(session, maxAll);
    yield* out.items;
    const numbered = cursor === null;
    const last = "nextCursor" in out && out.nextCursor === null;
    cursor = out.nextCursor ?? null;
    if (cursor === null && (!numbered || last || out.items.length < size || out.items.length === 0)) return;
  }
}

function all(session, walk) {
  const { maxAll } = session.vocabulary;
  const out = [];
  for (const item of walk) {
    if (out.length === maxAll) throw tooMany(session, maxAll);
    out.push(item);
  }
  return out;
}

function tooMany(session, most) {
  return session.error("result_too_large", `all() returns at most ${most} items, and there are more`, { hint: "Narrow it with `filter`, or go through the items with each()." });
}

/** domain returns SDK.<Domain> or SDK.Servers.<id>. */
function domain(session, d) {
  const members = {};
  const direct = (f) => (...args) => session.call(f.id, joined(f.leading, args));
  for (const f of d.functions ?? []) members[f.name] = direct(f);
  for (const g of d.groups ?? []) members[g.name] = Object.freeze(Object.fromEntries(g.functions.map((f) => [f.name, direct(f)])));
  if ((bindingsOf(d) || d.any) && !members.$call) {
    const call = (tool, input) => {
      const known = (d.functions ?? []).find((f) => f.id.endsWith(`::${tool}`) || f.name === tool);
      if (known === undefined && !d.any) {
        throw session.error("tool_not_found", `the server ${d.name} has no tool ${JSON.stringify(String(tool))}${didYouMean(String(tool), (d.functions ?? []).map((f) => f.id.split("::").pop()))}`);
      }
      return session.call(`whole:${known?.id ?? d.any}`, known ? (input ?? {}) : { tool, input: input ?? {} }).result;
    };
    Object.defineProperty(members, "$call", { __proto__: null, value: call });
  }
  if (!d.any) return members;
  const absent = (name) => (...args) => session.call(d.any, { tool: name, input: joined(undefined, args) });
  return new Proxy(members, {
    get: (target, name) => (name in target || typeof name !== "string" || unnamed.has(name) ? target[name] : absent(name)),
  });
}

/** unnamed are members that the language itself looks up. */
export const unnamed = new Set(["then", "toJSON", "constructor", "toString", "valueOf", "prototype", "__esModule"]);

/** bindingsOf reports whether a domain is an upstream server. */
function bindingsOf(d) {
  return (d.functions ?? []).some((f) => f.id.startsWith("upstream::"));
}

/**
 * joined returns the input that arguments mean: one value, or the leading members and those of one object. The host says
 * what is wrong with a value that is no object.
 */
export function joined(leading, args) {
  if (!(leading?.length > 0 && typeof args[0] === "string")) return args[0] === undefined ? {} : args[0];
  const given = {};
  leading.forEach((name, i) => {
    if (args[i] !== undefined) given[name] = args[i];
  });
  return isObject(args[leading.length]) ? Object.assign(given, args[leading.length]) : given;
}

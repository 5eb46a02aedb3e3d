// SDK: entities, plugins, upstream servers. What methods do is data, which the host gives (package bind in Go).

import { KoanError } from "./errors.mjs";
import { outOf } from "./output.mjs";
import { didYouMean } from "./names.mjs";

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
    const { given, bareSet } = inputOf(spec, args);
    if (spec.walks) {
      const walk = pages(session, operation, given, spec.returns === "list");
      return spec.returns === "iterator" ? walk : all(session, walk);
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

/** inputOf returns the input of the call that arguments mean, and whether a bare string was the set. */
export function inputOf(spec, args) {
  const names = spec.arguments ?? [];
  const given = Object.fromEntries(spec.fixed ?? []);
  let positional = args.slice(0, names.length);
  let options = args[names.length];
  if (spec.loneSet && args.length === 1 && typeof args[0] === "string") [options, positional] = [args[0], []];
  else if (spec.loose && options === undefined && positional.length === names.length && typeof positional[names.length - 1] === "object") options = positional.pop();
  positional.forEach((v, i) => {
    if (v !== undefined) given[names[i]] = v;
  });
  if (typeof options === "string") given.set = options;
  else if (typeof options === "object" && options !== null) Object.assign(given, options);
  else if (options !== undefined && options !== null) throw new TypeError(`the options of ${spec.name} are an object, not a ${typeof options}`);
  return { given, bareSet: typeof options === "string" };
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

/** joined returns the input that arguments mean: one object, or the leading members and one. */
export function joined(leading, args) {
  const given = {};
  let rest = args;
  if (leading?.length > 0 && typeof args[0] === "string") {
    leading.forEach((name, i) => {
      if (args[i] !== undefined) given[name] = args[i];
    });
    rest = args.slice(leading.length);
  }
  const [one] = rest;
  if (one !== undefined && one !== null && (typeof one !== "object" || Array.isArray(one))) throw new TypeError(`a function of SDK takes one object, not ${Array.isArray(one) ? "an array" : `a ${typeof one}`}`);
  return Object.assign(given, one ?? {});
}

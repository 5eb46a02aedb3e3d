// koan.code.validate for Node: syntax, and the names, options and literal inputs of SDK.

import { Status } from "./channel.mjs";
import { input, NotData } from "./encoding.mjs";
import { didYouMean } from "./names.mjs";
import { parse, ScriptError, unfenced } from "./program.mjs";
import { inputOf, joined } from "./sdk.mjs";
import { problemsOf } from "./imports.mjs";
import { Servers } from "./servers.mjs";

const MOST = 100;
const MOST_DETAILS = 10;
const OUT = ["answer", "emit", "info", "warn", "error", "progress", "file"];
const WRITES = new Set(["create", "upsert", "upsertMany", "patch", "delete", "deleteMany", "updateByQuery", "deleteByQuery"]);
const INHERITED = new Set(["hasOwnProperty", "toString", "valueOf", "constructor", "toJSON", "then"]);

/** check checks a job's script, and ends the process with what was found. */
export function check(session) {
  let found;
  try {
    const { tree } = parse(unfenced(session.job.code));
    const checker = new Checker(session, true);
    const imports = tree.body.filter((s) => s.type === "ImportDeclaration");
    for (const { fault, node, code } of problemsOf(session, new Servers(session, null), imports)) checker.add(node, code, fault.message, fault.hint);
    found = checker.visit(tree).found;
  } catch (e) {
    if (!(e instanceof ScriptError)) throw e;
    const fault = session.fault("syntax_error", e.message);
    session.placeAt(fault, e.line, e.column);
    found = [{ severity: "error", code: "parse", message: fault.message, hint: fault.hint, line: fault.line, column: fault.column }];
  }
  session.finish({ diagnostics: found.slice(0, MOST) });
}

/** explain adds to an error of the engine what a check says about the line that failed. */
export function explain(session, tree, fault) {
  if (!/^(?:Type|Reference)Error:/.test(fault.message)) return;
  const d = new Checker(session, false).visit(tree).found.find((one) => one.line === fault.line);
  if (d === undefined) return;
  fault.message = `${d.message} (${fault.message})`;
  fault.column = d.column;
  if (d.hint) fault.hint = d.hint;
}

/** Checker finds uses of SDK that cannot work. */
class Checker {
  found = [];
  #session;
  #inputs;
  #sdk;
  #constants = new Map();

  /** inputs has the host check the literal inputs of calls, too. */
  constructor(session, inputs) {
    this.#session = session;
    this.#inputs = inputs;
    this.#sdk = describe(session);
  }

  visit(tree) {
    this.#collect(tree);
    this.#walk(tree, false);
    return this;
  }

  add(node, code, message, hint = "", path = "") {
    const at = {};
    const { line, column } = node.loc.start;
    this.#session.placeAt(at, line, column + 1);
    this.found.push({ severity: "error", code, message, hint, line: at.line, column: at.column, path: path === "" ? undefined : path });
  }

  /** #collect notes the constants whose values are literal. */
  #collect(tree) {
    each(tree, (node) => {
      if (node.type !== "VariableDeclaration" || node.kind !== "const") return;
      for (const d of node.declarations) {
        if (d.id.type !== "Identifier" || d.init === null) continue;
        this.#constants.set(d.id.name, this.#constants.has(d.id.name) ? null : d.init);
      }
    });
  }

  #walk(node, tested) {
    if (node.type === "MemberExpression" && !tested) {
      const path = pathOf(node);
      if (path !== null && path[0] === "SDK") {
        this.#member(node, path);
        return;
      }
    }
    if (node.type === "CallExpression" && this.#inputs) this.#call(node);
    const tests = (node.type === "UnaryExpression" && node.operator === "typeof") || node.type === "ChainExpression";
    for (const child of childrenOf(node)) this.#walk(child, tests || (tested && node.type === "MemberExpression"));
  }

  #member(node, path) {
    let at = this.#sdk;
    for (let i = 1; i < path.length; i++) {
      if (at.members === undefined || INHERITED.has(path[i])) return;
      const next = at.members[path[i]];
      if (next === undefined && at.open) return;
      if (next === undefined) {
        const names = Object.keys(at.members);
        const code = at.readOnly && WRITES.has(path[i]) ? "read_only_entity" : at.code;
        this.add(innermost(node, path.length - 1 - i), code, `${path.slice(0, i).join(".")} has no \`${path[i].slice(0, 64)}\`${didYouMean(path[i], names)}`, names.length > 0 ? `There are: ${names.slice(0, 40).join(", ")}.` : "There is none for this caller.");
        return;
      }
      at = next;
    }
  }

  /** #call has an operation check the input that a call's literals make, if all of it is literal. */
  #call(node) {
    const path = pathOf(node.callee);
    if (path === null || path[0] !== "SDK") return;
    let at = this.#sdk;
    for (const name of path.slice(1)) at = at?.members?.[name];
    if (at?.operation === undefined) return;
    let body;
    try {
      const args = node.arguments.map((a) => this.#literal(a));
      body = input(at.spec ? inputOf(at.spec, args).given : joined(at.leading, args));
    } catch (e) {
      if (e === OTHER) return;
      this.add(node, "invalid_argument", e.message, e instanceof NotData ? e.hint : "", e instanceof NotData ? e.path : "");
      return;
    }
    const reply = this.#session.channel.call(at.operation, body);
    if (reply.status === Status.OK) return;
    const fault = JSON.parse(reply.body);
    const details = Array.isArray(fault.details) && fault.details.length > 0 ? fault.details : [{ path: fault.path ?? "", message: fault.message }];
    for (const d of details.slice(0, MOST_DETAILS)) this.add(node, codeOf(at.operation, fault.code, d), d.message, fault.hint, d.path ?? "");
  }

  /** #literal returns the value of an expression that is one, or throws OTHER. */
  #literal(node, depth = 0) {
    if (depth > 50) throw OTHER;
    const inner = (n) => this.#literal(n, depth + 1);
    switch (node.type) {
      case "Literal":
        if (node.regex === undefined) return node.value;
        break;
      case "TemplateLiteral":
        if (node.expressions.length === 0) return node.quasis[0].value.cooked;
        break;
      case "UnaryExpression":
        if (node.operator === "-") return -inner(node.argument);
        break;
      case "ArrayExpression":
        return node.elements.map((e) => inner(e ?? { type: "" }));
      case "ObjectExpression":
        return Object.fromEntries(node.properties.map((p) => {
          if (p.type !== "Property" || p.computed || p.kind !== "init") throw OTHER;
          return [p.key.name ?? String(p.key.value), inner(p.value)];
        }));
      case "Identifier":
        if (node.name === "undefined") return undefined;
        if (this.#constants.get(node.name)) return inner(this.#constants.get(node.name));
    }
    throw OTHER;
  }
}

/** OTHER says that an expression is not literal. */
const OTHER = Symbol("not literal");

/** describe returns the members of SDK as far as they are known. */
function describe(session) {
  const { bindings, vocabulary } = session;
  const leaf = (names) => Object.fromEntries(names.map((n) => [n, {}]));
  const calls = (functions) => Object.fromEntries((functions ?? []).map((f) => [f.name, { operation: f.id, leading: f.leading }]));
  const domain = (d) => ({
    code: "unknown_method",
    open: Boolean(d.any),
    members: { ...calls(d.functions), $call: {}, ...Object.fromEntries((d.groups ?? []).map((g) => [g.name, { code: "unknown_method", members: calls(g.functions) }])) },
  });
  const entities = Object.fromEntries((bindings.entities ?? []).map((e) => {
    const members = {};
    for (const op of e.ops ?? []) for (const spec of vocabulary.methods[op] ?? []) members[spec.name] = { operation: `koan::${e.name}.${op}`, spec };
    return [e.name, { code: "unknown_method", readOnly: e.readOnly, members }];
  }));
  const upstreams = bindings.upstreams ?? [];
  return {
    code: "unknown_domain",
    members: {
      Entities: { code: "unknown_entity", members: entities },
      Out: { code: "unknown_method", members: leaf(OUT) },
      args: {},
      run: {},
      ...(upstreams.length > 0 ? { Servers: { code: "unknown_server", members: Object.fromEntries(upstreams.map((d) => [d.name, domain(d)])) } } : {}),
      ...Object.fromEntries((bindings.domains ?? []).map((d) => [d.name, domain(d)])),
    },
  };
}

/** codeOf returns the code of a diagnostic for what an operation rejects. */
function codeOf(operation, code, { message, path = "" }) {
  if (code === "unknown_set") return code;
  if (operation.startsWith("koan::") && /^\/[^/]+$/.test(path) && /^(?:unknown |there is no )/.test(message)) return "unknown_option";
  if (/unknown|\bno /.test(message)) {
    for (const [text, name] of [["operator", "unknown_operator"], ["relationship", "unknown_relationship"], ["field", "unknown_field"], ["unknown member", "unknown_option"]]) {
      if (message.includes(text)) return name;
    }
  }
  return "invalid_argument";
}

/** pathOf returns the names of `a.b.c` or `a["b"].c`; null for anything else. */
function pathOf(node) {
  const names = [];
  for (; node.type === "MemberExpression"; node = node.object) {
    if (node.optional) return null;
    if (!node.computed && node.property.type === "Identifier") names.push(node.property.name);
    else if (node.computed && node.property.type === "Literal" && typeof node.property.value === "string") names.push(node.property.value);
    else return null;
  }
  return node.type === "Identifier" ? [node.name, ...names.reverse()] : null;
}

/** innermost returns where the name of a member stands that is so many levels inside of a member expression. */
function innermost(node, levels) {
  for (; levels > 0; levels--) node = node.object;
  return node.property;
}

function* childrenOf(node) {
  for (const key of Object.keys(node)) {
    const v = node[key];
    if (Array.isArray(v)) for (const one of v) if (typeof one?.type === "string") yield one;
    if (typeof v?.type === "string") yield v;
  }
}

function each(node, see) {
  see(node);
  for (const child of childrenOf(node)) each(child, see);
}

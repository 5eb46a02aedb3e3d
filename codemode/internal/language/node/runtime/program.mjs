// A script's text as the module that runs: its last value, a top-level return and its entry function are noted by a
// global (HOOK). Lines stay where they are, and a table maps columns back.

import { parse as parseText } from "./vendor/acorn.mjs";

/** HOOK is the global that a compiled script calls. */
export const HOOK = "__koan__";

const FENCE = /^\s*```[ \t]*[\w+-]*[ \t]*\n([^]*?)\n?[ \t]*```\s*$/;
const ENTRY = "run";

/** ScriptError is a script that does not compile. */
export class ScriptError extends Error {
  constructor(message, line, column) {
    super(message);
    this.line = line;
    this.column = column;
  }
}

/** unfenced returns a script without the one code fence around it; lines keep their numbers. */
export function unfenced(text) {
  const m = FENCE.exec(text);
  if (!m) return text;
  return "\n".repeat(text.slice(0, text.indexOf(m[1], text.indexOf("\n"))).split("\n").length - 1) + m[1];
}

/** parse returns the syntax tree of a module, with `shift`, how many characters were put before its first line. */
export function parse(text) {
  const options = { ecmaVersion: "latest", sourceType: "module", locations: true, allowReturnOutsideFunction: true, allowHashBang: true };
  try {
    return { tree: parseText(text, options), text };
  } catch (e) {
    if (/^\s*(?:async\s+)?function\b/.test(text)) { // a function without a name is no statement
      try {
        const wrapped = `(${text.replace(/[;\s]+$/, "")}\n)`;
        return { tree: parseText(wrapped, options), text: wrapped, shift: 1 };
      } catch {
        // the first error is about what the script says
      }
    }
    throw new ScriptError(`SyntaxError: ${e.message.replace(/ \(\d+:\d+\)$/, "")}`, e.loc?.line ?? 1, (e.loc?.column ?? 0) + 1);
  }
}

/** compile returns the module of a script. named is the entry function that its caller names, "" for none. */
export function compile(code, named) {
  const { tree, text, shift = 0 } = parse(unfenced(code));
  const edits = new Edits(text, shift);
  const body = tree.body.filter((s) => s.type !== "EmptyStatement");
  const only = body.length === 1 ? body[0] : null;
  const lone = only?.type === "ExpressionStatement" && isFunction(only.expression);
  let entry = named;
  if (entry === "" && only?.type === "FunctionDeclaration") entry = only.id.name;
  else if (entry === "" && !lone) entry = watchEntry(body, edits) ? ENTRY : "";
  notePlaces(tree, edits);
  const last = body.findLast((s) => !/Declaration$/.test(s.type));
  if (last !== undefined) noteValue(last, edits);
  const imports = tree.body.filter((s) => s.type === "ImportDeclaration");
  let tail = entry === "" ? "" : `\n;${HOOK}.entry=typeof ${entry}==="undefined"?undefined:${entry};`;
  if (declaresResult(body.at(-1))) tail += `\n;${HOOK}.last=result;`;
  if (returns(tree.body)) {
    const exported = body.find((s) => /^Export/.test(s.type));
    if (exported) throw new ScriptError("SyntaxError: a script that exports cannot return at the top level", exported.loc.start.line, exported.loc.start.column + 1);
    let hoisted = "";
    for (const s of imports) {
      hoisted += `${text.slice(s.start, s.end)};`.replace(/\n/g, " ");
      edits.blank(s.start, s.end);
    }
    edits.insert(0, `${HOOK}.returned=await(async()=>{`);
    tail += `\n})();${hoisted}`;
  }
  return { text: edits.text() + tail, at: (line, column) => edits.original(line, column), tree, entry, named: named !== "", lone, imports };
}

/** declaresResult reports whether a statement declares the result by its name, which is no global then. */
function declaresResult(s) {
  const declared = s?.type === "ExportNamedDeclaration" ? s.declaration : s;
  return declared?.type === "VariableDeclaration" && declared.declarations.some((d) => d.id.name === "result" && d.init);
}

function isFunction(node) {
  return node.type === "FunctionExpression" || node.type === "ArrowFunctionExpression";
}

/** watchEntry has the hook see whether a top-level function `run` is called, and reports whether there is one. */
function watchEntry(body, edits) {
  for (let s of body) {
    if (s.type === "ExportNamedDeclaration" && s.declaration) s = s.declaration;
    let f = null;
    if (s.type === "FunctionDeclaration" && s.id.name === ENTRY) f = s;
    else if (s.type === "VariableDeclaration") f = s.declarations.find((d) => d.id.name === ENTRY && d.init && isFunction(d.init))?.init ?? null;
    if (f === null) continue;
    if (f.body.type === "BlockStatement") {
      edits.insert(f.body.start + 1, `${HOOK}.ran=true;`);
    } else {
      edits.insert(f.body.start, `(${HOOK}.ran=true,`);
      edits.insert(f.body.end, ")");
    }
    return true;
  }
  return false;
}

/**
 * notePlaces has the hook know where what is thrown is thrown, since only an error knows that itself, and what the script
 * awaits at its top level.
 */
function notePlaces(node, edits, inner = false) {
  if (Array.isArray(node)) return node.forEach((one) => notePlaces(one, edits, inner));
  if (node === null || typeof node !== "object" || typeof node.type !== "string") return;
  const { line, column } = node.loc.start;
  const place = `${line},${column + 1 - (line === 1 ? edits.shift : 0)}`;
  if (node.type === "AwaitExpression") {
    edits.insert(node.start + "await".length, ` ${HOOK}.awaits(${place},${!inner},(`);
    edits.insert(node.end, "))");
  }
  if (node.type === "ThrowStatement") {
    edits.insert(node.start + "throw".length, ` ${HOOK}.throws(${place},(`);
    edits.insert(node.argument.end + trailing(edits.source, node.argument.end, node.end), "))");
  }
  if (node.type === "CatchClause") edits.insert(node.body.start + 1, `${HOOK}.caught();`);
  for (const v of Object.values(node)) if (typeof v === "object") notePlaces(v, edits, inner || /Function/.test(node.type));
}

/** noteValue has the hook see the value of a script's last expression statement, also inside of other statements. */
function noteValue(s, edits) {
  const inner = (list) => {
    const last = list.findLast((x) => !/Declaration$|^EmptyStatement$/.test(x.type));
    if (last !== undefined) noteValue(last, edits);
  };
  switch (s?.type) {
    case "ExpressionStatement":
      if (s.directive !== undefined && s.expression.type !== "Literal") return;
      edits.insert(s.start, `${HOOK}.last=(`);
      edits.insert(s.expression.end + trailing(edits.source, s.expression.end, s.end), ")");
      return;
    case "BlockStatement":
      return inner(s.body);
    case "IfStatement":
      noteValue(s.consequent, edits);
      return noteValue(s.alternate, edits);
    case "TryStatement":
      inner(s.block.body);
      return s.handler ? inner(s.handler.body.body) : undefined;
    case "LabeledStatement":
    case "ForStatement":
    case "ForOfStatement":
    case "ForInStatement":
    case "WhileStatement":
    case "DoWhileStatement":
      return noteValue(s.body, edits);
    case "SwitchStatement":
      for (const c of s.cases) inner(c.consequent.filter((x) => x.type !== "BreakStatement"));
  }
}

/** trailing returns how many characters behind an expression belong to it: parentheses around it. */
function trailing(source, from, to) {
  const rest = source.slice(from, to);
  const end = rest.lastIndexOf(";");
  return end >= 0 && rest.slice(end + 1).trim() === "" ? end : rest.length;
}

/** returns reports whether statements have a return that is in none of their functions. */
function returns(node) {
  if (Array.isArray(node)) return node.some(returns);
  if (node === null || typeof node !== "object" || typeof node.type !== "string") return false;
  if (node.type === "ReturnStatement") return true;
  if (/Function|^Class|^(?:Property|MethodDefinition|StaticBlock)/.test(node.type)) return false;
  return Object.values(node).some((v) => typeof v === "object" && v !== null && returns(v));
}

/** Edits are insertions into a text that keep its lines. */
class Edits {
  #list = [];

  constructor(source, shift) {
    this.source = source;
    this.shift = shift;
    if (shift > 0) this.#list.push({ at: 0, text: "", skipped: shift });
  }

  insert(at, text) {
    this.#list.push({ at, text, skipped: 0 });
  }

  /** blank takes a part away, and leaves its lines. */
  blank(from, to) {
    this.source = this.source.slice(0, from) + this.source.slice(from, to).replace(/[^\n\r\u2028\u2029]/g, " ") + this.source.slice(to);
  }

  text() {
    let out = "";
    let from = 0;
    for (const e of this.#sorted()) {
      out += this.source.slice(from, e.at) + e.text;
      from = e.at;
    }
    return out + this.source.slice(from);
  }

  #sorted() {
    return this.#list.map((e, i) => [e, i]).sort((a, b) => a[0].at - b[0].at || a[1] - b[1]).map(([e]) => e);
  }

  /** original returns the user's position of one in the module, both counted from 1. */
  original(line, column) {
    const starts = [0, ...Array.from(this.source.matchAll(/\r\n|[\n\r\u2028\u2029]/g), (m) => m.index + m[0].length)];
    if (line > starts.length) return { line: 0, column: 0 };
    const start = starts[line - 1];
    const end = starts[line] ?? this.source.length + 1;
    let shift = 0;
    for (const e of this.#sorted()) {
      if (e.at < start || e.at >= end) continue;
      const at = e.at - start;
      if (column - 1 >= at + shift + e.text.length) shift += e.text.length;
      else if (column - 1 >= at + shift) return { line, column: at + 1 - (line === 1 ? this.shift : 0) };
    }
    return { line, column: Math.max(column - shift - (line === 1 ? this.shift : 0), 1) };
  }
}

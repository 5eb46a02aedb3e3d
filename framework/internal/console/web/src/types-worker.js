// TypeScript's own service, over one script and the declarations of the app's SDK.
import ts from "typescript";
import libraries from "typescript-libraries";

const script = "/script.ts", sdk = "/koan.d.ts";
const texts = new Map([[script, { text: "export {};", version: 0 }], [sdk, { text: "", version: 0 }]]);
const library = (name) => libraries[name.slice(name.lastIndexOf("/") + 1)];
const snapshots = new Map();

const host = {
  getCompilationSettings: () => ({
    target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.ESNext, moduleResolution: ts.ModuleResolutionKind.Bundler, lib: ["lib.es2022.d.ts"],
    strict: true, noImplicitAny: false, useUnknownInCatchVariables: false, allowJs: true, noEmit: true, types: [], skipLibCheck: true, allowUnreachableCode: true,
  }),
  getScriptFileNames: () => [script, sdk],
  getScriptVersion: (name) => String(texts.get(name)?.version ?? 0),
  getScriptSnapshot: (name) => {
    const own = texts.get(name);
    if (own) return ts.ScriptSnapshot.fromString(own.text);
    if (!snapshots.has(name)) snapshots.set(name, library(name) === undefined ? undefined : ts.ScriptSnapshot.fromString(library(name)));
    return snapshots.get(name);
  },
  getCurrentDirectory: () => "/",
  getDefaultLibFileName: () => "/lib.es2022.d.ts",
  fileExists: (name) => texts.has(name) || library(name) !== undefined,
  readFile: (name) => texts.get(name)?.text ?? library(name),
  directoryExists: () => true,
  getDirectories: () => [],
};
const service = ts.createLanguageService(host, ts.createDocumentRegistry());

// A script is checked as a module, so that it may await and so that its names are its own.
const suffix = "\nexport {};";

// What is an error in a module and none in a script: a return at its top, and names that the
// runtime itself reads.
const allowed = new Set([1108, 2403, 7017, 1375, 1378, 7044, 6133, 6192, 6196]);

const set = (name, text) => {
  const is = texts.get(name);
  if (is.text !== text) texts.set(name, { text, version: is.version + 1 });
};
const plain = (parts) => ts.displayPartsToString(parts || []);

const methods = {
  // declare takes the declarations of the SDK, and makes all ready for the first question.
  declare({ text }) {
    set(sdk, text);
    set(script, "SDK." + suffix);
    service.getCompletionsAtPosition(script, 4, {});
    service.getSemanticDiagnostics(script);
    return true;
  },
  complete({ text, at }) {
    set(script, text + suffix);
    const found = service.getCompletionsAtPosition(script, at, { includeCompletionsWithInsertText: true, includeCompletionsForModuleExports: false });
    if (!found) return null;
    return {
      member: found.isMemberCompletion,
      entries: found.entries.filter((e) => e.kind !== ts.ScriptElementKind.warning).slice(0, 400).map((e) => ({ name: e.name, kind: e.kind, sort: e.sortText, insert: e.insertText, optional: e.kindModifiers?.includes("optional") })),
    };
  },
  detail({ at, name }) {
    const d = service.getCompletionEntryDetails(script, at, name, undefined, undefined, undefined, undefined);
    return d && { type: plain(d.displayParts), text: plain(d.documentation) };
  },
  hover({ text, at }) {
    set(script, text + suffix);
    const q = service.getQuickInfoAtPosition(script, at);
    return q && { from: q.textSpan.start, to: q.textSpan.start + q.textSpan.length, type: plain(q.displayParts), text: plain(q.documentation) };
  },
  check({ text }) {
    set(script, text + suffix);
    const all = [...service.getSyntacticDiagnostics(script), ...service.getSemanticDiagnostics(script)];
    return all.filter((d) => !allowed.has(d.code) && d.start < text.length + 1).map((d) => ({
      from: Math.min(d.start, text.length), to: Math.min(d.start + d.length, text.length), message: ts.flattenDiagnosticMessageText(d.messageText, "\n"), severity: d.category === ts.DiagnosticCategory.Error ? "error" : "warning",
    }));
  },
};

onmessage = ({ data: { id, method, params } }) => {
  try {
    postMessage({ id, result: methods[method](params) });
  } catch (e) {
    postMessage({ id, error: String(e?.message || e) });
  }
};

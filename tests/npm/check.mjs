// Type-checks many texts in one go, as `tsc --strict` would.
//
// Standard input: a list of {name: text}, each checked by itself: every file that is
// no .d.ts is a module of its own, and sees the .d.ts files beside it. Standard
// output: for each an object of findings by file, "(line,column): TSnnnn: message".
import { readFileSync } from "node:fs";
import ts from "typescript";

const options = {
  strict: true, noEmit: true, allowJs: true, checkJs: true, target: ts.ScriptTarget.ES2022, lib: ["lib.es2022.d.ts"],
  module: ts.ModuleKind.ES2022, moduleDetection: ts.ModuleDetectionKind.Force, types: [],
  skipDefaultLibCheck: true, // what a text declares against them is found in the text
};
const libraries = new Map(); // parsed once for all

function check(files) {
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists } = host;
  host.fileExists = (name) => name in files || (name.startsWith("/") && fileExists(name)); // the libraries' own
  host.getSourceFile = (name, language) => {
    if (name in files) return ts.createSourceFile(name, files[name], language, true);
    if (!libraries.has(name)) libraries.set(name, getSourceFile(name, language));
    return libraries.get(name);
  };
  const found = {};
  for (const d of ts.getPreEmitDiagnostics(ts.createProgram(Object.keys(files), options, host))) {
    const at = d.file?.getLineAndCharacterOfPosition(d.start ?? 0);
    const text = `TS${d.code}: ${ts.flattenDiagnosticMessageText(d.messageText, " ")}`;
    (found[d.file?.fileName ?? ""] ??= []).push(at ? `(${at.line + 1},${at.character + 1}): ${text}` : text);
  }
  return found;
}

console.log(JSON.stringify(JSON.parse(readFileSync(0, "utf8")).map(check)));

// What scripts can import, and what is wrong with an import that is written down.

import { existsSync, readdirSync } from "node:fs";
import { isBuiltin } from "node:module";

import { classes } from "./errors.mjs";
import { didYouMean } from "./names.mjs";
import { DISCOVERED } from "./servers.mjs";

const PACKAGES = "/node_modules";

/** problemsOf returns a fault for each import that cannot work. */
export function problemsOf(session, servers, imports) {
  const modules = servers.modules;
  const paths = ["@codemode/discovery", "@codemode/errors", ...modules.keys()];
  const out = [];
  for (const i of imports) {
    const path = i.source.value;
    if (isBuiltin(path)) continue;
    const own = /^@codemode\/|^\.\/servers\//.test(path);
    if (!own && (/^[./]|^(?:data|file):/.test(path) || existsSync(`${PACKAGES}/${packageOf(path)}`))) continue;
    if (!own || !paths.includes(path)) {
      out.push({ fault: absent(session, path, paths), node: i, code: "unknown_module" });
      continue;
    }
    const exported = path === "@codemode/discovery" ? DISCOVERED : path === "@codemode/errors" ? Object.keys(classes) : servers.exports(modules.get(path));
    if (exported === null) continue;
    for (const s of i.specifiers) {
      if (s.type !== "ImportSpecifier" || exported.includes(s.imported.name)) continue;
      const name = s.imported.name;
      const message = `the module ${JSON.stringify(path)} does not export ${JSON.stringify(name)}${didYouMean(name, exported)}`;
      const hint = `It exports ${exported.slice(0, 40).join(", ")}.`;
      out.push({ fault: session.fault(modules.has(path) ? "tool_not_found" : "capability_unsupported", message, { hint, retry: "fix", details: { import: path } }), node: s, code: "unknown_export" });
    }
  }
  return out;
}

/** absent returns the fault of an import of a module that is not there. */
export function absent(session, path, paths) {
  const server = /^@codemode\/servers\/|^\.\/servers\//.test(path);
  let packages = [];
  try {
    packages = readdirSync(PACKAGES).filter((n) => !n.startsWith("."));
  } catch {
    // there are none
  }
  const hint = server
    ? `Import one of these: ${paths.slice(0, 40).join(", ")}.`
    : `Scripts can import Node's own modules, ./servers/<module>/index.js, @codemode/errors${packages.length > 0 ? `, and ${packages.slice(0, 40).join(", ")}` : ""}; the operator adds others to codeMode.nodeModules.`;
  const message = `there is no module ${JSON.stringify(path.slice(0, 200))}${didYouMean(path, server ? paths : packages)}`;
  return session.fault(server ? "server_not_found" : "capability_unsupported", message, { hint, retry: "fix", details: { import: path.slice(0, 200) } });
}

function packageOf(path) {
  return path.split("/").slice(0, path.startsWith("@") ? 2 : 1).join("/");
}

// The modules that scripts import: `./servers/<server_module>/index.js` in the layout of specs/code-mcp-guide.md, and
// `@codemode/servers/<id>`, `@codemode/discovery`, `@codemode/errors`. They are files in the workspace, whose functions
// call this module's.

import { mkdirSync, writeFileSync } from "node:fs";

import { joined } from "./sdk.mjs";
import { serverModule, toolFunction } from "./names.mjs";
import { log } from "./output.mjs";

const nativeThen = Promise.prototype.then;
const { apply } = Reflect;
const WHOLE = "whole:";
const FILES = "files:";
const DISCOVERY = { listServers: 0, describeServer: 2, listTools: 2, getTool: 2, searchTools: 2 }; // with their numbers of parameters
/** DISCOVERED are the names that @codemode/discovery exports. */
export const DISCOVERED = [...Object.keys(DISCOVERY), "specVersion"];
const IDENTIFIER = /^[\p{L}$_][\p{L}\p{M}\p{Nd}$_]*$/u;

/** PACKAGES is the folder of the modules that are imported by a name. */
const PACKAGES = "/workspace/node_modules/@codemode";

function put(folder, files) {
  mkdirSync(folder, { recursive: true });
  for (const name of Object.keys(files)) writeFileSync(`${folder}/${name}`, files[name]);
}

/** writeCommon writes the modules that are the same for all scripts. */
export function writeCommon() {
  const described = (exports) => `${JSON.stringify({ type: "module", exports })}\n`;
  put("/workspace", { "package.json": '{"type":"module"}\n' });
  put("/workspace/client", { "mcp_client.js": 'export { callTool } from "/koan/client.mjs";\n' });
  put(`${PACKAGES}/errors`, { "package.json": described("./index.js"), "index.js": 'export * from "/koan/errors.mjs";\n' });
  put(`${PACKAGES}/discovery`, { "package.json": described("./index.js"), "index.js": moduleText("discovery", DISCOVERED) });
  put(`${PACKAGES}/servers`, { "package.json": described({ "./*": "./*/index.js" }) });
}

/** Servers makes the modules of a script. */
export class Servers {
  #session;
  #loop;
  #open = new Set(); // the calls whose promises nothing has awaited

  constructor(session, loop) {
    this.#session = session;
    this.#loop = loop;
  }

  /** modules returns the servers by the paths that a script can import them by. */
  get modules() {
    const out = new Map();
    for (const s of this.#session.bindings.servers ?? []) {
      out.set(`@codemode/servers/${s.id}`, s);
      const guide = `./servers/${serverModule(s.id)}/index.js`;
      if (!out.has(guide)) out.set(guide, s);
    }
    return out;
  }

  /** exports returns the names that a server's module has; null if every name may be one. */
  exports(server) {
    return server.any ? null : Object.keys(this.functions(server));
  }

  /** functions returns the tools of a server by their names in its module: as in JavaScript, and as the guide says. */
  functions(server) {
    const out = {};
    for (const t of server.tools ?? []) {
      out[t.export] ??= t;
      const guide = toolFunction(t.name);
      if (IDENTIFIER.test(guide)) out[guide] ??= t;
    }
    for (const g of server.groups ?? []) out[g.name] = g;
    out.__meta__ = null;
    return out;
  }

  /** write writes the modules of servers that a script may import. named has the names that it uses of servers whose tools are not known. */
  write(named) {
    const servers = this.#session.bindings.servers ?? [];
    servers.forEach((s, i) => {
      if (!s.tools && !s.any && !s.groups) return;
      const names = this.exports(s) ?? [...named, "__meta__"];
      const text = moduleText(i, names);
      put(`/workspace/servers/${serverModule(s.id)}`, { "index.js": text });
      put(`${PACKAGES}/servers/${s.id}`, { "index.js": text });
    });
  }

  /** member returns an export of a module: of the server with an index, or of discovery. */
  member(of, name) {
    if (of === "discovery") return name === "specVersion" ? "1.0.0" : (...args) => this.#discover(name, args);
    const server = this.#session.bindings.servers[of];
    if (name === "__meta__") return this.#meta(server);
    const t = this.functions(server)[name];
    if (t?.functions) return Object.freeze(Object.fromEntries(t.functions.map((f) => [f.name, this.#wrapper(server, { name: f.name, export: f.name, id: f.id, leading: f.leading })])));
    return this.#wrapper(server, t ?? { name, export: name, id: server.any, any: name });
  }

  /** callTool is callTool of the guide's client. */
  callTool({ serverId, name, arguments: given }) {
    for (const s of this.#session.bindings.servers ?? []) {
      if (s.id !== serverId && s.name !== serverId && serverModule(s.id) !== serverId) continue;
      const t = (s.tools ?? []).find((x) => x.name === name || x.export === name);
      if (t !== undefined || s.any) return this.#wrapper(s, t ?? { name, export: name, id: s.any, any: name })(given);
      return Promise.reject(this.#session.error("tool_not_found", `the server ${serverId} has no tool ${JSON.stringify(String(name))}`));
    }
    return Promise.reject(this.#session.error("server_not_found", `there is no server ${JSON.stringify(String(serverId))}`));
  }

  /** callById is the global callTool(id, params), which calls any operation by its id. */
  callById(id, params) {
    return this.#started(FILES + String(id), params ?? {}, undefined);
  }

  #meta(server) {
    const tools = (server.tools ?? []).map((t) => ({ toolName: t.name, exportName: t.export, ...(t.description && { description: t.description }) }));
    return Object.freeze({ serverId: server.id, serverName: server.name, ...(server.version && { serverVersion: server.version }), tools });
  }

  #wrapper(server, t) {
    const raw = this.#session.job.code.includes("$raw") && !t.leading;
    const call = async (...args) => {
      let given = joined(t.leading, args);
      if (t.any) given = { tool: t.any, input: given };
      const out = await this.#started((raw ? WHOLE : "") + t.id, given, { serverId: server.id, toolName: t.name, exportName: t.export });
      if (!raw || out === null || typeof out !== "object" || !("value" in out)) return out;
      if (typeof out.value === "object" && out.value !== null) Object.defineProperty(out.value, "$raw", { __proto__: null, value: out.result });
      return out.value;
    };
    const watched = (...args) => this.#watch(call(...args), t.export);
    Object.defineProperty(watched, "name", { __proto__: null, value: t.export });
    return watched;
  }

  /** #watch notes whether something awaits a promise: await reads the constructor, everything else calls then. */
  #watch(promise, name) {
    const one = { name, from: new Error() };
    this.#open.add(one);
    const used = () => this.#open.delete(one);
    Object.defineProperty(promise, "constructor", { __proto__: null, configurable: true, get: () => (used(), Promise) });
    Object.defineProperty(promise, "then", { __proto__: null, configurable: true, writable: true, value: (...then) => (used(), apply(nativeThen, promise, then)) });
    return promise;
  }

  /** warnOfOpen names in the logs, once for each place, the calls whose promises nothing has awaited. */
  warnOfOpen() {
    const said = new Set();
    for (const { name, from } of this.#open) {
      const line = this.#session.lineOf(from);
      said.add(`Nothing has awaited the promise of ${name}(...)${line > 0 ? ` in line ${line}` : ""}, so the script went on without its result. Write await before the call, unless that is meant.`);
    }
    for (const text of said) log(this.#session, "warn", text);
    this.#open.clear();
  }

  #discover(name, args) {
    return this.#started(`discovery.${name}`, Array.from({ length: DISCOVERY[name] }, (_, i) => args[i] ?? null), {});
  }

  #started(operation, given, tool) {
    const raw = this.#session.input(given);
    const from = new Error(); // where the call is in the script
    return new Promise((resolve, reject) => {
      this.#loop.start(operation, raw, (reply) => {
        try {
          resolve(this.#session.output(reply, operation, tool));
        } catch (e) {
          e.stack = `${String(e.stack).split("\n    at")[0]}\n${String(from.stack).split("\n").slice(1).join("\n")}`;
          reject(e);
        }
      });
    });
  }
}

/** moduleText returns the text of a module whose exports are members (Servers.member). */
function moduleText(of, names) {
  const lines = ['import { member } from "/koan/client.mjs";'];
  names.forEach((name, i) => lines.push(`const m${i} = member(${JSON.stringify(of)}, ${JSON.stringify(name)});`));
  lines.push(`export { ${names.map((name, i) => `m${i} as ${IDENTIFIER.test(name) ? name : JSON.stringify(name)}`).join(", ")} };`);
  return `${lines.join("\n")}\n`;
}

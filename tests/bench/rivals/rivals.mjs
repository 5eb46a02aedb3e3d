// Measures other systems that run an agent's script, with a tool of the host that adds
// two numbers, and with one that calls `echo` of server-everything before it does. Writes
// a line of JSON for each figure.
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const seconds = Number(process.argv[2] ?? 2);
const report = (figure) => process.stdout.write(JSON.stringify(figure) + "\n");
console.log = () => {}; // UTCP tells of every call
console.error = () => {};

// upstream returns a tool that calls `echo` of a real MCP server and then adds two numbers.
async function upstream() {
  const npm = createRequire(new URL("../../npm/package.json", import.meta.url));
  const { Client } = await import(npm.resolve("@modelcontextprotocol/sdk/client/index.js"));
  const { StdioClientTransport } = await import(npm.resolve("@modelcontextprotocol/sdk/client/stdio.js"));
  const index = path.join(path.dirname(npm.resolve("@modelcontextprotocol/server-everything/package.json")), "dist", "index.js");
  const client = new Client({ name: "bench", version: "1.0.0" });
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [index, "stdio"], stderr: "ignore" }));
  return async (a, b) => {
    const { content } = await client.callTool({ name: "echo", arguments: { message: "hello" } });
    if (content[0].text !== "Echo: hello") throw new Error(`the server says ${JSON.stringify(content)}`);
    return { sum: a + b };
  };
}

// Each opens one system over a tool that adds two numbers, and returns how it runs a
// script of so many calls. The result is the number of calls.
const rivals = {
  "executor (QuickJS in WASM)": async (tool) => {
    const { Effect } = await import("effect");
    const { makeQuickJsExecutor } = await import("@executor-js/runtime-quickjs");
    const executor = makeQuickJsExecutor();
    const tools = { invoke: ({ args }) => Effect.promise(async () => tool(args.a, args.b)) };
    return {
      run: async (calls) => {
        const code = `let n = 0; for (let i = 0; i < ${calls}; i++) n = (await tools.math.add({ a: n, b: 1 })).sum; return n;`;
        const out = await Effect.runPromise(executor.execute(code, tools));
        if (out.error) throw new Error(out.error);
        return out.result;
      },
    };
  },
  "UTCP code-mode (isolated-vm)": async (tool) => {
    const { addFunctionToUtcpDirectCall } = await import("@utcp/direct-call");
    const { CodeModeUtcpClient } = await import("@utcp/code-mode");
    addFunctionToUtcpDirectCall("manual", async () => ({
      utcp_version: "1.0.1",
      manual_version: "1.0.0",
      tools: [{
        name: "add",
        description: "Adds two numbers.",
        inputs: { type: "object", properties: { a: { type: "number" }, b: { type: "number" } } },
        outputs: { type: "object" },
        tags: [],
        tool_call_template: { call_template_type: "direct-call", callable_name: "add" },
      }],
    }));
    addFunctionToUtcpDirectCall("add", tool);
    const client = await CodeModeUtcpClient.create();
    await client.registerManual({ name: "math", call_template_type: "direct-call", callable_name: "manual" });
    return {
      run: async (calls) => {
        const code = `let n = 0; for (let i = 0; i < ${calls}; i++) n = math.add({ a: n, b: 1 }).sum; return n;`;
        return (await client.callToolChain(code)).result;
      },
    };
  },
  "Monty (a subset of Python, in the host's process)": async (tool) => {
    const { Monty, runMontyAsync } = await import("@pydantic/monty");
    return {
      run: async (calls) => {
        const m = new Monty(`n = 0\nfor _ in range(${calls}):\n    n = add(n, 1)\nn`);
        return runMontyAsync(m, { externalFunctions: { add: async (a, b) => (await tool(a, b)).sum } });
      },
    };
  },
  "Cloudflare codemode (workerd, by miniflare)": async (tool, own) => {
    const { Miniflare } = await import("miniflare");
    const dist = path.dirname(createRequire(import.meta.url).resolve("@cloudflare/codemode"));
    const root = path.resolve("/modules");
    const modules = [{ type: "ESModule", path: path.join(root, "main.mjs"), contents: worker }];
    const add = (file) => {
      const at = path.join(root, file);
      if (modules.some((m) => m.path === at)) return;
      const text = readFileSync(path.join(dist, file), "utf8").replace(/from "acorn"/g, 'from "./acorn.js"');
      modules.push({ type: "ESModule", path: at, contents: text });
      for (const [, next] of text.matchAll(/from "\.\/([^"]+)"/g)) if (next !== "acorn.js") add(next);
    };
    add("index.js");
    const acorn = path.join(path.dirname(createRequire(path.join(dist, "index.js")).resolve("acorn")), "acorn.mjs");
    modules.push({ type: "ESModule", path: path.join(root, "acorn.js"), contents: readFileSync(acorn, "utf8") });
    const server = new Miniflare({ modules, modulesRoot: root, compatibilityDate: "2026-07-01", compatibilityFlags: ["nodejs_compat"], workerLoaders: { LOADER: {} }, serviceBindings: { HOST: async (request) => Response.json(await tool(...(await request.json()))) } });
    await server.ready;
    return {
      run: async (calls) => {
        const response = await server.dispatchFetch(`http://localhost/?calls=${calls}&own=${own}`);
        const text = await response.text();
        if (!response.ok) throw new Error(text);
        const out = JSON.parse(text);
        if (out.error) throw new Error(out.error);
        return out.result;
      },
      close: () => server.dispose(),
    };
  },
};

const worker = `
import { DynamicWorkerExecutor } from "./index.js";
export default {
  async fetch(request, env) {
    const asked = new URL(request.url).searchParams;
    const calls = asked.get("calls");
    const executor = new DynamicWorkerExecutor({ loader: env.LOADER });
    const code = \`async () => { let n = 0; for (let i = 0; i < \${calls}; i++) n = (await codemode.add({ a: n, b: 1 })).sum; return n; }\`;
    const host = async ({ a, b }) => (await env.HOST.fetch("http://host/", { method: "POST", body: JSON.stringify([a, b]) })).json();
    const tools = { add: asked.get("own") === "true" ? async ({ a, b }) => ({ sum: a + b }) : host };
    return Response.json(await executor.execute(code, [{ name: "codemode", fns: tools }]));
  },
};`;

// measure runs scripts for a while, so many at once.
async function measure(run, calls, clients) {
  const took = [];
  const begun = performance.now();
  const until = begun + seconds * 1000;
  await Promise.all(Array.from({ length: clients }, async () => {
    while (performance.now() < until) {
      const at = performance.now();
      const result = await run(calls);
      if (result !== calls) throw new Error(`the result is ${JSON.stringify(result)}, not ${calls}`);
      took.push(performance.now() - at);
    }
  }));
  const elapsed = performance.now() - begun;
  took.sort((a, b) => a - b);
  const at = (q) => took[Math.floor(q * (took.length - 1))];
  return { p50: at(0.5), p95: at(0.95), perSecond: took.length / (elapsed / 1000) };
}

const own = async (a, b) => ({ sum: a + b });
const echo = await upstream();

for (const [name, open] of Object.entries(rivals)) {
  for (const [tool, scripts] of [[own, [[0, 1], [10, 1], [100, 1], [0, 16]]], [echo, [[1, 1], [10, 1], [100, 1]]]]) {
    try {
      const rival = await open(tool, tool === own);
      for (let i = 0; i < 20; i++) await rival.run(10);
      for (const [calls, clients] of scripts) {
        report({ name, upstream: tool === echo, calls, clients, ...await measure(rival.run, calls, clients) });
      }
      await rival.close?.();
    } catch (error) {
      report({ name, upstream: tool === echo, error: String(error?.message ?? error).split("\n")[0] });
    }
  }
}
process.exit(0);

// A client lists a server's tools, calls one, and makes a call that fails. Prints the
// names, the result and the code of the failure as one line of JSON: {tools, count, failed}.
//
//   node visit.mjs CLIENT COMMAND [ARG...]
//   node visit.mjs CLIENT http://ADDRESS/mcp
//
// CLIENT is client-legacy, client-modern (the official client 2.x in either era),
// sdk (the official client 1.x), remote (the same through mcp-remote), ai, langchain or
// mcporter.
import { execFile } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const [how, command, ...args] = process.argv.slice(2);
const url = command.startsWith("http") ? new URL(command) : undefined;
const packages = join(dirname(fileURLToPath(import.meta.url)), "node_modules");
const stdio = (command, args) => ({ command, args, env: process.env, stderr: "ignore" });
const count = { name: "entities_count", arguments: { entity: "Todo" } };
const wrong = { name: "entities_count", arguments: { entity: "Todo", filter: { titel: "x" } } };

// official runs a session of an official client: constructor and transports have the
// same names in both lines.
async function official({ Client, StdioClientTransport, StreamableHTTPClientTransport }, options, [command, ...args], url) {
  const client = new Client({ name: "visit", version: "1.0.0" }, { capabilities: {}, ...options });
  await client.connect(url ? new StreamableHTTPClientTransport(url) : new StdioClientTransport(stdio(command, args)));
  const { tools } = await client.listTools();
  const counted = await client.callTool(count); // checks the result against the schema that was listed
  const failed = await client.callTool(wrong);
  await client.close();
  return { tools: tools.map((t) => t.name), count: counted.structuredContent.count, failed: failed.structuredContent.error.code };
}

async function v2(mode) {
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  return official({ Client, StdioClientTransport, StreamableHTTPClientTransport }, { versionNegotiation: { mode } }, [command, ...args], url);
}

async function v1(command, url) {
  const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
  const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
  const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
  return official({ Client, StdioClientTransport, StreamableHTTPClientTransport }, {}, command, url);
}

// The AI SDK hands the tools to a model, which calls one and then the wrong one.
async function ai() {
  const { generateText, isStepCount } = await import("ai");
  const { MockLanguageModelV4 } = await import("ai/test");
  const { createMCPClient } = await import("@ai-sdk/mcp");
  const { Experimental_StdioMCPTransport } = await import("@ai-sdk/mcp/mcp-stdio");
  const client = await createMCPClient({ transport: url ? { type: "http", url: url.href } : new Experimental_StdioMCPTransport(stdio(command, args)) });
  const told = [];
  const call = (id, { name, arguments: input }) => ({
    content: [{ type: "tool-call", toolCallId: id, toolName: name, input: JSON.stringify(input) }],
    finishReason: { unified: "tool-calls", raw: undefined },
    usage: { inputTokens: { total: 1 }, outputTokens: { total: 1 } },
    warnings: [],
  });
  const model = new MockLanguageModelV4({
    doGenerate: async (options) => {
      told.push(options);
      if (told.length < 3) return call(String(told.length), told.length === 1 ? count : wrong);
      return { ...call("", count), content: [{ type: "text", text: "done" }], finishReason: { unified: "stop", raw: undefined } };
    },
  });
  const { steps } = await generateText({ model, tools: await client.tools(), prompt: "Count.", stopWhen: isStepCount(5) });
  await client.close();
  const results = steps.flatMap((s) => s.content.filter((c) => c.type === "tool-result" || c.type === "tool-error"));
  return {
    tools: told[0].tools.map((t) => t.name),
    count: results[0].output.structuredContent.count,
    failed: results[1].output.structuredContent.error.code,
  };
}

async function langchain() {
  const { MultiServerMCPClient } = await import("@langchain/mcp-adapters");
  const server = url ? { transport: "http", url: url.href } : { transport: "stdio", ...stdio(command, args) };
  const client = new MultiServerMCPClient({ mcpServers: { koan: server }, useStandardContentBlocks: true });
  const tools = await client.getTools();
  const tool = tools.find((t) => t.name === count.name);
  const counted = await tool.invoke(count.arguments);
  const failed = await tool.invoke(wrong.arguments).then(
    () => "none",
    (e) => e.message,
  );
  await client.close();
  return { tools: tools.map((t) => t.name), count: counted.structuredContent.count, failed: /invalid_payload/.exec(failed)?.[0] };
}

async function mcporter() {
  const home = mkdtempSync(join(tmpdir(), "mcporter-"));
  const server = url ? ["--http-url", url.href, "--allow-http"] : ["--stdio", [command, ...args].join(" ")];
  const run = async (...words) => {
    const to = [join(packages, "mcporter/dist/cli.js"), words[0], ...server, "--name", "koan", ...words.slice(1)];
    const { stdout } = await promisify(execFile)(process.execPath, to, { cwd: home, env: { ...process.env, HOME: home } }).catch((e) => e);
    return JSON.parse(stdout);
  };
  const listed = await run("list", "--json", "--schema");
  const counted = await run("call", count.name, "entity=Todo", "--output", "json");
  const failed = await run("call", wrong.name, "--args", JSON.stringify(wrong.arguments), "--output", "json");
  return { tools: listed.tools.map((t) => t.name), count: counted.count, failed: failed.error?.code };
}

const seen = await {
  "client-legacy": () => v2("legacy"),
  "client-modern": () => v2({ pin: "2026-07-28" }),
  sdk: () => v1([command, ...args], url),
  remote: () => v1([process.execPath, join(packages, "mcp-remote/dist/proxy.js"), url.href, "--allow-http", "--transport", "http-only"]),
  ai,
  langchain,
  mcporter,
}[how]();
console.log(JSON.stringify(seen));
process.exit(0);

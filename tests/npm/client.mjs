// A session of the official TypeScript client with a server, over stdio or at an
// address of Streamable HTTP. Its client
// checks structured output against each tool's output schema, on success and on
// failure. Prints what it saw as one line of JSON.
//
//   node client.mjs COMMAND [ARG...]
//   node client.mjs http://ADDRESS/mcp
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { LoggingMessageNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const transport = command.startsWith("http")
  ? new StreamableHTTPClientTransport(new URL(command))
  : new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
const client = new Client({ name: "peer", version: "1.0.0" }, { capabilities: {} });
await client.connect(transport);

const seen = {};
const { tools } = await client.listTools();
seen.tools = tools.map((t) => t.name);
seen.schemas = tools.every((t) => t.inputSchema.type === "object" && (t.outputSchema?.type ?? "object") === "object");
const call = async (name, args, options) => {
  const r = await client.callTool({ name, arguments: args }, undefined, options);
  return { isError: r.isError === true, body: r.structuredContent };
};
seen.count = await call("entities_count", { entity: "Todo" });
seen.missing = await call("entities_get-by-id", { entity: "Todo", id: "none" });
seen.bad = await call("entities_upsert", { entity: "Todo", model: { title: 7 } });
let progress = 0;
seen.script = await call(
  "koan_code_execute",
  { code: "for (let i = 1; i <= 3; i++) { SDK.Out.progress(i, 3, 'step ' + i); SDK.Entities.Todo.count(); } SDK.Out.answer('done')" },
  { onprogress: () => progress++ },
);
seen.progress = progress > 0;
seen.failing = await call("koan_code_execute", { code: "null.x" });
seen.validate = await call("koan_code_validate", { code: "SDK.Entities.Todo.colection()" });
seen.search = await call("koan_code_search", { query: "todo", detail: "summary" });
try {
  await call("no.such.tool", {});
} catch (e) {
  seen.unknown = { code: e.code, data: e.data };
}
const controller = new AbortController();
const running = call("koan_code_execute", { code: "for (;;);" }, { signal: controller.signal });
setTimeout(() => controller.abort(), 200);
seen.cancelled = await running.then(
  () => false,
  () => true,
);
const { resources } = await client.listResources();
seen.resources = resources.map((r) => r.uri);
const doc = await client.readResource({ uri: "koan://sdk/koan.d.ts" });
seen.declarations = doc.contents[0].text.includes("declare namespace SDK");
const { prompts } = await client.listPrompts();
seen.prompts = prompts.map((p) => p.name);
const prompt = await client.getPrompt({ name: "write-koan-script", arguments: { task: "Count.", entities: "Todo" } });
seen.prompt = prompt.messages[0].content.text;
const complete = async (ref, argument) => (await client.complete({ ref, argument })).completion.values;
seen.entities = await complete({ type: "ref/resource", uri: "koan://sdk/{name}.d.ts" }, { name: "name", value: "to" });
seen.argument = await complete({ type: "ref/prompt", name: "write-koan-script" }, { name: "entities", value: "Person,to" });
await client.setLoggingLevel("info");
seen.heard = [];
client.setNotificationHandler(LoggingMessageNotificationSchema, (n) => seen.heard.push(n.params.level + " " + n.params.data));
await call("koan_code_execute", { code: "console.log('begun'); console.debug('unheard'); SDK.Out.warn('over'); SDK.Out.answer(1)" });
await client.subscribeResource({ uri: "koan://sdk/koan.d.ts" });
await client.unsubscribeResource({ uri: "koan://sdk/koan.d.ts" });
await transport.terminateSession?.();
await client.close();
console.log(JSON.stringify(seen));

// A session of the official TypeScript client with `koan gateway` in front of npm's
// server-everything: questions of that server reach the client's user and model, and
// approvals come before them. Prints what it saw as one line of JSON.
//
//   node gateway.mjs COMMAND [ARG...]
//   node gateway.mjs http://ADDRESS/mcp
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const connect = async (capabilities) => {
  const transport = command.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
  const client = new Client({ name: "behind", version: "1.0.0" }, { capabilities });
  await client.connect(transport);
  const run = async (code) => {
    const r = await client.callTool({ name: "koan_code_execute", arguments: { code } });
    return { isError: r.isError === true, body: r.structuredContent };
  };
  return { client, run, end: async () => { await transport.terminateSession?.(); await client.close(); } };
};

const { client, run, end } = await connect({ elicitation: {}, sampling: {} });
const seen = { asked: [], sampled: [] };
let approve = true;
let form = { action: "accept", content: { name: "Ann Smith", email: "ann@example.org", check: true } };
client.setRequestHandler(ElicitRequestSchema, async ({ params }) => {
  const approval = "approve" in params.requestedSchema.properties;
  seen.asked.push({ approval, message: params.message, fields: Object.keys(params.requestedSchema.properties) });
  return approval ? { action: "accept", content: { approve } } : form;
});
client.setRequestHandler(CreateMessageRequestSchema, async ({ params }) => {
  seen.sampled.push(params.systemPrompt);
  return { role: "assistant", model: "none", content: { type: "text", text: "a haiku" } };
});
seen.tools = (await client.listTools()).tools.map((t) => t.name);
const asks = `SDK.Servers.everything["trigger_elicitation_request"]({})`;
while (!(await run("Object.keys(SDK.Servers.everything)")).body.result.includes("trigger_elicitation_request")) await new Promise((resolve) => setTimeout(resolve, 50)); // its tools are listed
seen.answered = await run(asks);
form = { action: "decline" };
seen.declined = await run(asks);
approve = false;
seen.denied = await run(asks);
approve = true;
seen.model = await run(`SDK.Servers.everything["trigger_sampling_request"]({ prompt: "write one", maxTokens: 50 })`);
await end();

const mute = await connect({});
seen.mute = await mute.run(asks);
await mute.end();
console.log(JSON.stringify(seen));

// A session of the official TypeScript client with a server that asks it: for what
// its user says, what its model says, and its roots. Prints what it saw as one line
// of JSON.
//
//   node asking.mjs COMMAND [ARG...]
//   node asking.mjs http://ADDRESS/mcp
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { CreateMessageRequestSchema, ElicitRequestSchema, ListRootsRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const connect = async (capabilities) => {
  const transport = command.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
  const client = new Client({ name: "asked", version: "1.0.0" }, { capabilities });
  await client.connect(transport);
  return { client, end: async () => { await transport.terminateSession?.(); await client.close(); } };
};
const { client, end } = await connect({ elicitation: {}, sampling: {}, roots: {} });
const seen = { withdrawn: false };
let forms = [{ action: "accept", content: { username: "ann", email: "ann@example.org" } }, { action: "decline" }];
let asked = () => {};
client.setRequestHandler(ElicitRequestSchema, async (request, { signal }) => {
  if (forms.length > 0) return forms.shift();
  asked();
  return await new Promise((resolve) => signal.addEventListener("abort", () => { seen.withdrawn = true; resolve({ action: "cancel" }); }));
});
client.setRequestHandler(CreateMessageRequestSchema, async (request) => ({
  role: "assistant", model: "none", content: { type: "text", text: "You said " + request.params.messages[0].content.text },
}));
client.setRequestHandler(ListRootsRequestSchema, async () => ({ roots: [{ uri: "file:///work", name: "work" }] }));

const call = async (name, input, options) => {
  const r = await client.callTool({ name, arguments: input }, undefined, options);
  return { isError: r.isError === true, text: r.content[0].text };
};
seen.accepted = await call("test_elicitation", { message: "Who are you?" });
seen.declined = await call("test_elicitation", { message: "And now?" });
seen.sampled = await call("test_sampling", { prompt: "hello" });
seen.roots = await call("test_input_required_result_list_roots", {});
forms = [{ action: "accept", content: { name: "Ann" } }];
seen.several = await call("test_input_required_result_multiple_inputs", {});
forms = [{ action: "accept", content: { context: "tests" } }];
seen.prompt = (await client.getPrompt({ name: "test_input_required_result_prompt" })).messages[0].content.text;
const controller = new AbortController();
asked = () => controller.abort();
seen.cancelled = await call("test_elicitation", { message: "Nobody answers." }, { signal: controller.signal }).then(() => false, () => true);
while (!seen.withdrawn) await new Promise((resolve) => setTimeout(resolve, 10));
await end();
const mute = await connect({});
const refused = await mute.client.callTool({ name: "test_elicitation", arguments: { message: "Anybody?" } });
seen.refused = { isError: refused.isError, code: refused.structuredContent.error.code };
await mute.end();
console.log(JSON.stringify(seen));

// A session of the official TypeScript client whose user is asked what runs may
// keep. Prints what it saw as one line of JSON.
//
//   node approving.mjs COMMAND [ARG...]
//   node approving.mjs http://ADDRESS/mcp
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";

const [command, ...args] = process.argv.slice(2);
const connect = async (capabilities) => {
  const transport = command.startsWith("http")
    ? new StreamableHTTPClientTransport(new URL(command))
    : new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" });
  const client = new Client({ name: "approving", version: "1.0.0" }, { capabilities });
  await client.connect(transport);
  const call = async (name, input, options) => {
    const r = await client.callTool({ name, arguments: input }, undefined, options);
    return { isError: r.isError === true, body: r.structuredContent };
  };
  return { client, call, end: async () => { await transport.terminateSession?.(); await client.close(); } };
};
const { client, call, end } = await connect({ elicitation: {} });
const seen = { asked: [] };
let approve = true;
let wait = 0;
client.setRequestHandler(ElicitRequestSchema, async (request) => {
  seen.asked.push(request.params.message);
  await new Promise((resolve) => setTimeout(resolve, wait));
  return approve === null ? { action: "decline" } : { action: "accept", content: { approve } };
});
const script = { code: "const t = SDK.Entities.Todo.upsert({ title: SDK.args.title }); SDK.Out.answer(t.title)" };
wait = 3500; // longer than the script, the tool and, without progress, the client's request may take
const progress = [];
const patient = { timeout: 2000, resetTimeoutOnProgress: true, onprogress: (p) => progress.push(p) };
seen.yes = await call("koan_code_execute", { ...script, args: { title: "yes" } }, patient);
seen.progress = progress;
// It is asked by then, on a busy machine too, and has not answered.
seen.gaveUp = await call("koan_code_execute", { ...script, args: { title: "gave up" } }, { timeout: 3000 }).then(() => "", (e) => e.code);
wait = 0;
approve = false;
seen.no = await call("koan_code_execute", { ...script, args: { title: "no" } });
approve = null;
seen.declined = await call("todo_delete", { id: "1" });
seen.read = await call("todo_count", {});
approve = true;
seen.tool = await call("todo_delete", { id: "1" });
await end();

// A client that cannot be asked is told of the plan, and cannot agree to it itself.
const mute = await connect({});
seen.mute = await mute.call("koan_code_execute", { ...script, args: { title: "mute" } });
const planId = seen.mute.body.error.details.planId;
seen.own = await mute.call("koan_code_execute", { planId });
seen.shown = await mute.call("koan_code_execute", { planId, dryRun: true });
await mute.end();
console.log(JSON.stringify(seen));

// A session of the official TypeScript client with an app that has actions, over stdio.
// Prints what it saw as one line of JSON.
//
//   node actions.mjs COMMAND [ARG...]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [command, ...args] = process.argv.slice(2);
const client = new Client({ name: "peer", version: "1.0.0" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "ignore" }));
const seen = {};
const { tools } = await client.listTools();
seen.tool = tools.find((t) => t.name === "finish-todo");
seen.unlisted = tools.some((t) => t.name === "count-todos");
const call = async (name, input) => {
  const r = await client.callTool({ name, arguments: input });
  return { isError: r.isError === true, body: r.structuredContent };
};
seen.finished = await call("finish-todo", { id: "1", note: "done" });
seen.again = await call("finish-todo", { id: "1", note: "done" });
seen.bad = await call("finish-todo", { id: "1", note: "why" });
seen.script = await call("koan_code_execute", {
  code: 'import { count_todos } from "@codemode/servers/koan"; SDK.Out.answer([SDK.Actions.countTodos(), await count_todos()])',
});
seen.invalid = await call("koan_code_validate", { code: 'SDK.Actions.finishTod({ id: "1" })' });
seen.argument = await call("koan_code_validate", { code: 'SDK.Actions.finishTodo({ id: "1", note: "why" })' });
seen.search = await call("koan_code_search", { query: "mark a todo as completed", detail: "full", limit: 3 });
seen.types = (await client.readResource({ uri: "koan://sdk/koan.d.ts" })).contents[0].text;
seen.modules = (await client.readResource({ uri: "koan://sdk/modules.d.ts" })).contents[0].text;
seen.prompts = (await client.listPrompts()).prompts;
seen.prompt = (await client.getPrompt({ name: "finish-todo", arguments: { id: "1", note: "done" } })).messages[0].content.text;
seen.complete = (await client.complete({ ref: { type: "ref/prompt", name: "finish-todo" }, argument: { name: "note", value: "d" } })).completion.values;
await client.close();
console.log(JSON.stringify(seen));

// Calls one tool of a server over stdio and prints the answer of its script.
//
//   node ask.mjs TOOL ARGUMENTS COMMAND [ARG...]
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [tool, input, command, ...args] = process.argv.slice(2);
const client = new Client({ name: "peer", version: "1.0.0" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ command, args, env: process.env, stderr: "inherit" }));
const result = await client.callTool({ name: tool, arguments: JSON.parse(input) });
await client.close();
if (result.isError) throw new Error(JSON.stringify(result.structuredContent));
process.stdout.write(JSON.stringify(result.structuredContent.answer) + "\n");

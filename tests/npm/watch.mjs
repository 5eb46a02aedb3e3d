// The official TypeScript client, which waits for its server's list of tools to
// change. Prints the names of the tools as one line of JSON: at the start, and after
// each change.
//
//   node watch.mjs http://ADDRESS/mcp
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ToolListChangedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const client = new Client({ name: "watch", version: "1.0.0" }, { capabilities: {} });
const tell = async () => console.log(JSON.stringify((await client.listTools()).tools.map((t) => t.name)));
client.setNotificationHandler(ToolListChangedNotificationSchema, tell);
await client.connect(new StreamableHTTPClientTransport(new URL(process.argv[2])));
await tell();
process.stdin.resume().on("end", () => process.exit(0));

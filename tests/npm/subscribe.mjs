// The official TypeScript client, which subscribes to a resource. Prints one line of JSON at the
// start, and after each notification that the resource has changed: its URI and how many entities
// it has.
//
//   node subscribe.mjs http://ADDRESS/mcp URI
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { ResourceUpdatedNotificationSchema } from "@modelcontextprotocol/sdk/types.js";

const [address, uri] = process.argv.slice(2);
const client = new Client({ name: "subscribe", version: "1.0.0" }, { capabilities: {} });
const tell = async (uri) => {
  const { contents } = await client.readResource({ uri });
  console.log(JSON.stringify({ uri, items: JSON.parse(contents[0].text).items.length }));
};
client.setNotificationHandler(ResourceUpdatedNotificationSchema, (n) => tell(n.params.uri));
await client.connect(new StreamableHTTPClientTransport(new URL(address)));
await client.subscribeResource({ uri });
await tell(uri);
process.stdin.resume().on("end", () => process.exit(0));

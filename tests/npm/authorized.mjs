// A session of the official TypeScript client that begins without a token: it finds
// the authorization server from the first refusal, gets a token and calls. Prints
// what it saw as one line of JSON.
//
//   node authorized.mjs http://ADDRESS/mcp ISSUER CLIENT SECRET SCOPE
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { ClientCredentialsProvider } from "@modelcontextprotocol/sdk/client/auth-extensions.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";

const [url, expectedIssuer, clientId, clientSecret, scope] = process.argv.slice(2);
const authProvider = new ClientCredentialsProvider({ clientId, clientSecret, expectedIssuer, scope });
const client = new Client({ name: "authorized", version: "1.0.0" }, { capabilities: {} });
await client.connect(new StreamableHTTPClientTransport(new URL(url), { authProvider }));
const { tools } = await client.listTools();
const { structuredContent } = await client.callTool({ name: "member_count", arguments: {} });
await client.close();
console.log(JSON.stringify({ tools: tools.map((t) => t.name), members: structuredContent }));

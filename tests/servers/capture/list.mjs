// Starts an MCP server of npm with credentials that are none, and prints what it lists, as
// JSON. No tool is called.
//
//   npm install --ignore-scripts PACKAGE
//   node list.mjs node_modules/PACKAGE PACKAGE > ../testdata/NAME.json
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";

const [folder, name] = [resolve(process.argv[2]), process.argv[3]];
const home = mkdtempSync(join(tmpdir(), "capture-"));
const keys = join(home, "keys.json");
writeFileSync(keys, JSON.stringify({ installed: { client_id: "none", client_secret: "none", redirect_uris: ["http://localhost:3000/callback"] } }));
// What servers ask for before they list anything.
const needs = {
  "@modelcontextprotocol/server-postgres": { args: ["postgresql://nobody@127.0.0.1:9/none"] },
  "@modelcontextprotocol/server-filesystem": { args: [home] },
  "@modelcontextprotocol/server-slack": { env: { SLACK_BOT_TOKEN: "none", SLACK_TEAM_ID: "none" } },
  "@modelcontextprotocol/server-google-maps": { env: { GOOGLE_MAPS_API_KEY: "none" } },
  "@modelcontextprotocol/server-brave-search": { env: { BRAVE_API_KEY: "none" } },
  "@zereight/mcp-gitlab": { env: { GITLAB_PERSONAL_ACCESS_TOKEN: "none", USE_PIPELINE: "true", USE_MILESTONE: "true", USE_GITLAB_WIKI: "true" } },
  "@notionhq/notion-mcp-server": { env: { NOTION_TOKEN: "none" } },
  "@tacticlaunch/mcp-linear": { env: { LINEAR_API_TOKEN: "none", LINEAR_API_KEY: "none" } },
  "@nexus2520/jira-mcp-server": { env: { JIRA_EMAIL: "a@example.org", JIRA_API_TOKEN: "none", JIRA_BASE_URL: "https://example.invalid" } },
  "airtable-mcp-server": { env: { AIRTABLE_API_KEY: "pat123.abc123" } },
  "@roychri/mcp-server-asana": { env: { ASANA_ACCESS_TOKEN: "none" } },
  "todoist-mcp": { env: { API_KEY: "none", TODOIST_API_KEY: "none", TODOIST_API_TOKEN: "none" } },
  "mongodb-mcp-server": { env: { MDB_MCP_TELEMETRY: "disabled", MDB_MCP_CONNECTION_STRING: "mongodb://127.0.0.1:9/none" } },
  "@hubspot/mcp-server": { env: { PRIVATE_APP_ACCESS_TOKEN: "none" } },
  "@cloudflare/mcp-server-cloudflare": { args: ["run", "none"], env: { CLOUDFLARE_API_TOKEN: "none", CLOUDFLARE_ACCOUNT_ID: "none" } },
  "@delorenj/mcp-server-trello": { env: { TRELLO_API_KEY: "none", TRELLO_TOKEN: "none", TRELLO_BOARD_ID: "none" } },
  "@cocal/google-calendar-mcp": { env: { GOOGLE_OAUTH_CREDENTIALS: keys } },
  "@piotr-agier/google-drive-mcp": { env: { GOOGLE_DRIVE_OAUTH_CREDENTIALS: keys } },
}[name] ?? {};
const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const bin = typeof about.bin === "string" ? about.bin : Object.values(about.bin)[0];
const transport = new StdioClientTransport({
  command: process.execPath, args: [join(folder, bin), ...(needs.args ?? [])], cwd: home, stderr: "inherit",
  env: { PATH: process.env.PATH, HOME: home, DO_NOT_TRACK: "1", GITHUB_PERSONAL_ACCESS_TOKEN: "none", ...needs.env },
});
const client = new Client({ name: "capture", version: "1.0.0" }, { capabilities: {} });
await client.connect(transport, { timeout: 20000 });
const tools = [];
for (let cursor; ;) {
  const page = await client.listTools({ cursor }, { timeout: 20000 });
  tools.push(...page.tools);
  if (!(cursor = page.nextCursor)) break;
}
console.log("{" + [`"name":${JSON.stringify(name)}`, `"version":${JSON.stringify(about.version)}`, `"license":${JSON.stringify(about.license ?? null)}`, `"tools":[\n` + tools.map((t) => JSON.stringify(t)).join(",\n") + "\n]"].join(",") + "}");
await client.close();
process.exit(0);

// Starts a database server of npm over PantryPal's tables, and prints what it lists and
// what it says of one table, as JSON.
//
//   node capture.mjs PACKAGE URL|FILE
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const [name, database] = process.argv.slice(2);
const columns = "SELECT column_name, data_type, is_nullable, column_default FROM information_schema.columns WHERE table_schema = 'public' AND table_name = 'pantry_items'";
const servers = {
  "@modelcontextprotocol/server-postgres": { args: [database], call: ["query", { sql: columns }] },
  "@bytebase/dbhub": { args: ["--transport", "stdio", "--dsn", "sqlite://" + database], call: ["search_objects", { object_type: "column", schema: "main", table: "pantry_items", detail_level: "full" }] },
  "@executeautomation/database-server": { args: [database], call: ["describe_table", { table_name: "pantry_items" }] },
  "@henkey/postgres-mcp-server": { args: ["--connection-string", database], call: ["pg_manage_schema", { operation: "get_info", tableName: "pantry_items" }] },
  "mcp-postgres-full-access": { args: [database], call: ["describe_table", { table_name: "pantry_items" }] },
  "mcp-server-sqlite-npx": { args: [database], call: ["describe_table", { table_name: "pantry_items" }] },
  "mcp-sqlite": { args: [database], call: ["get_table_schema", { tableName: "pantry_items" }] },
};
const folder = join(dirname(fileURLToPath(import.meta.url)), "node_modules", name);
const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
const bin = typeof about.bin === "string" ? about.bin : Object.values(about.bin)[0];
const transport = new StdioClientTransport({ command: process.execPath, args: [join(folder, bin), ...servers[name].args], env: process.env, stderr: "ignore" });
const client = new Client({ name: "baselines", version: "1.0.0" }, { capabilities: {} });
await client.connect(transport);
const { tools } = await client.listTools();
const [tool, input] = servers[name].call;
const result = await client.callTool({ name: tool, arguments: input });
await client.close();
if (result.isError) throw new Error(JSON.stringify(result));
console.log(JSON.stringify({ name, version: about.version, tools, call: { name: tool, arguments: input }, content: result.content }));

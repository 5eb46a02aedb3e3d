// Does with a bundle what a client does: the official packer's own code unpacks it,
// validates its manifest and fills in what a user has chosen; then the server is started
// and talked to. Prints what it saw as one line of JSON.
//
//   node bundle.mjs BUNDLE FOLDER USER_CONFIG [TOOL ARGUMENTS]
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { getMcpConfigForManifest, unpackExtension, validateManifest } from "@anthropic-ai/mcpb";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";

const [bundle, folder, chosen, tool, input] = process.argv.slice(2);
const seen = {};
seen.unpacked = await unpackExtension({ mcpbPath: bundle, outputDir: folder, silent: true });
const said = [];
console.log = console.warn = console.error = (...words) => said.push(words.join(" "));
seen.valid = validateManifest(join(folder, "manifest.json"));
seen.said = said.join("\n");
const manifest = JSON.parse(readFileSync(join(folder, "manifest.json")));
seen.platforms = manifest.compatibility.platforms;
seen.runtimes = manifest.compatibility.runtimes;
seen.listed = manifest.tools?.map((t) => t.name) ?? [];
const config = await getMcpConfigForManifest({
  manifest,
  extensionPath: folder,
  systemDirs: { HOME: process.env.HOME },
  userConfig: JSON.parse(chosen),
  pathSeparator: "/",
});
seen.config = config;
const client = new Client({ name: "peer", version: "1.0.0" }, { capabilities: {} });
await client.connect(new StdioClientTransport({ ...config, env: { PATH: process.env.PATH, HOME: process.env.HOME, ...config.env }, stderr: "ignore" }));
seen.tools = (await client.listTools()).tools.map((t) => t.name);
if (tool) {
  const r = await client.callTool({ name: tool, arguments: JSON.parse(input) });
  seen.called = { isError: r.isError === true, body: r.structuredContent };
}
await client.close();
process.stdout.write(JSON.stringify(seen) + "\n");

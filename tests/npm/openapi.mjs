// Lints an OpenAPI document with Redocly's rules, and makes TypeScript of it.
//   node openapi.mjs lint FILE            prints what is wrong, as JSON
//   node openapi.mjs types FILE           prints the types, by openapi-typescript
//   node openapi.mjs client FILE FOLDER   writes a client into a folder, by hey-api
import { lint, createConfig } from "@redocly/openapi-core";
import { createClient } from "@hey-api/openapi-ts";
import openapiTS, { astToString } from "openapi-typescript";
import { pathToFileURL } from "node:url";

const [what, file, folder] = process.argv.slice(2);
if (what === "lint") {
  // What an app's licence is, the framework does not know.
  const config = await createConfig({ extends: ["recommended-strict"], rules: { "info-license": "off", "info-license-strict": "off" } });
  const problems = await lint({ ref: file, config });
  console.log(JSON.stringify(problems.map((p) => ({ rule: p.ruleId, message: p.message, at: p.location?.[0]?.pointer }))));
} else if (what === "client") {
  await createClient({ input: file, output: folder, plugins: ["@hey-api/typescript", "@hey-api/sdk", "@hey-api/client-fetch"], logs: { level: "error" } });
} else {
  console.log(astToString(await openapiTS(pathToFileURL(file))));
}

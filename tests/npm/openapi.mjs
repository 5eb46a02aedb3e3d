// Lints an OpenAPI document with Redocly's rules, and makes TypeScript of it.
//   node openapi.mjs lint FILE    prints what is wrong, as JSON
//   node openapi.mjs types FILE   prints the types
import { lint, createConfig } from "@redocly/openapi-core";
import openapiTS, { astToString } from "openapi-typescript";
import { pathToFileURL } from "node:url";

const [what, file] = process.argv.slice(2);
if (what === "lint") {
  // What an app's licence is, the framework does not know.
  const config = await createConfig({ extends: ["recommended-strict"], rules: { "info-license": "off", "info-license-strict": "off" } });
  const problems = await lint({ ref: file, config });
  console.log(JSON.stringify(problems.map((p) => ({ rule: p.ruleId, message: p.message, at: p.location?.[0]?.pointer }))));
} else {
  console.log(astToString(await openapiTS(pathToFileURL(file))));
}

// The plugin of the tests of kits, in JavaScript.

import { readFile, writeFile } from "node:fs/promises";
import { request } from "node:http";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { Fault, Plugin, s } from "koan-plugin";

const plugin = new Plugin({
  domain: "weather",
  version: "1.2.3",
  description: "Says how the weather is.",
  settings: { city: { default: "Berlin", help: "Where the weather is." }, apiKey: { default: "", secret: true } },
  faultCodes: ["weather_out"],
  needs: ["koan::Todo.*"],
  keepsState: true,
  metrics: [{ name: "looks", help: "How often somebody looked." }, { name: "look_seconds", histogram: true }],
  configure({ city, apiKey }) {
    if (city === "Atlantis") throw new Error(`city: it has sunk, says ${apiKey}`);
  },
});

plugin.function(
  "now",
  {
    summary: "Say how the weather is.",
    readOnly: true,
    example: { text: "hi" },
    input: s.object({ text: s.string(), number: s.bigint({ description: "Said again." }).nullable().default(null), key: s.boolean().default(false) }),
    output: s.object({ city: s.string(), text: s.string(), number: s.bigint().nullable() }),
  },
  async ({ text, number, key }, call) => {
    call.progress(1, 2, `looking at ${text}`);
    await call.span("look", () => {
      call.measure("looks");
      call.measure("look_seconds", 0.25);
    });
    call.log.warn("looked", { at: text });
    const { city, apiKey } = plugin.settings;
    if (!key) return { city, text, number };
    call.log.info(`with ${apiKey}`);
    return { city, text: `${apiKey.length} characters`, number: null };
  },
);

plugin.function("fail", { summary: "Fail.", outside: true, input: s.object({ how: s.string() }) }, ({ how }) => {
  if (how === "fault") throw new Fault("conflict", "taken", { hint: "take another", path: "/how", retry: "never" });
  if (how === "own") throw new Fault("weather_out", "no weather", { details: { since: 3 } });
  throw new Error("inner words");
});

plugin.function("slow", { summary: "Wait for better weather.", readOnly: true, input: s.object({ ms: s.integer() }), output: s.object({ ms: s.integer() }) }, async ({ ms }, call) => {
  await sleep(ms, undefined, { signal: call.signal });
  return { ms };
});

plugin.function(
  "reach",
  { summary: "Read what is not the plugin's.", readOnly: true, input: s.object({ path: s.string().default(""), url: s.string().default("") }), output: s.object({ text: s.string() }) },
  async ({ path, url }) => {
    if (!url) return { text: (await readFile(path)).toString() };
    try {
      return { text: await get(url) };
    } catch {
      return { text: "not reached" };
    }
  },
);

/** Returns what a URL answers, through the proxy if there is one. */
async function get(url) {
  const proxy = process.env.HTTP_PROXY && new URL(process.env.HTTP_PROXY);
  const target = proxy ? { host: proxy.hostname, port: proxy.port, path: url, headers: { host: new URL(url).host } } : url;
  const answer = await new Promise((resolve, reject) => request(target, resolve).on("error", reject).end());
  const pieces = await answer.toArray();
  return `${answer.statusCode} ${Buffer.concat(pieces)}`;
}

plugin.function("much", { summary: "Say much.", readOnly: true, input: s.object({ size: s.integer() }), output: s.object({ text: s.string() }) }, ({ size }) => ({ text: "x".repeat(size) }));

plugin.function("ask", { summary: "Ask the app.", input: s.object({ operation: s.string(), input: s.record(s.any()) }), output: s.object({ got: s.any() }) }, async ({ operation, input }, call) => ({
  got: await call.invoke(operation, input),
}));

plugin.function("count", { summary: "Count these calls, for good.", output: s.object({ count: s.integer() }) }, async (_, call) => {
  const kept = join(call.stateDir, "count");
  const count = 1 + Number(await readFile(kept).catch(() => 0));
  await writeFile(kept, String(count));
  return { count };
});

plugin.function("copy", { summary: "Copy a file.", input: s.object({ file: s.file() }), output: s.object({ file: s.file(), size: s.integer() }) }, async ({ file }, call) => {
  const source = await call.file(file);
  const target = await call.createFile(`copy of ${source.name}`, source.type);
  await pipeline(source.stream(), target);
  return { file: target.handle, size: target.handle.size };
});

await plugin.serve();

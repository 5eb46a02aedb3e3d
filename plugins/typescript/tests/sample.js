// The plugin that the tests start.

import { setTimeout as sleep } from "node:timers/promises";
import { pipeline } from "node:stream/promises";
import { Fault, Plugin, s } from "../dist/index.js";

console.log("a library greets");

const plugin = new Plugin({
  domain: "sample",
  version: "1.2.3",
  description: "For tests.",
  settings: { city: { default: "Berlin", help: "Where the weather is." }, apiKey: { default: "", secret: true }, maxDays: { default: 3 }, verbose: { default: false } },
  faultCodes: ["too_loud"],
  needs: ["koan::Todo.patch"],
  keepsState: true,
  configure(settings) {
    if (settings.city === "Atlantis") throw new Error("city: it has sunk");
  },
  closing() {
    console.error(JSON.stringify({ "@level": "info", "@message": "closed" }));
  },
});

plugin.function(
  "say",
  {
    summary: "Say it again.",
    readOnly: true,
    timeoutMs: 2500,
    scopes: ["say"],
    example: { text: "hi" },
    input: s.object({ text: s.string(), count: s.bigint().default(1n), size: s.integer({ minimum: 0, description: "x's" }).default(0) }),
    output: s.object({ text: s.string(), count: s.bigint(), about: s.any() }),
  },
  ({ text, count, size }, call) => {
    const { id, key, set, dryRun, local, trace, caller, stateDir, deadline } = call;
    const about = { id, key, set, dryRun, local, trace, ...caller, city: plugin.settings.city, maxDays: plugin.settings.maxDays, state: stateDir, deadline: deadline instanceof Date };
    return { text: text + "x".repeat(size), count, about };
  },
);

plugin.function("fail", { summary: "Fail.", outside: true, input: s.object({ how: s.string() }) }, ({ how }) => {
  switch (how) {
    case "fault":
      throw new Fault("conflict", "taken", { hint: "take another", path: "/how", details: { by: "bob" }, retry: "never" });
    case "own":
      throw new Fault("too_loud", "not so loud");
    case "undeclared":
      throw new Fault("made_up", "inner words");
    case "unsendable":
      throw new Fault("conflict", "taken", { details: { n: Number.NaN } });
    case "timeout":
      throw new DOMException("inner words", "TimeoutError");
    case "floating":
      void Promise.reject(new Error("floating words"));
      return;
  }
  throw new Error("inner words");
});

plugin.function("report", { summary: "Report how far it is.", readOnly: true, input: s.object({ times: s.integer() }), output: s.object({ times: s.integer() }) }, ({ times }, call) => {
  for (let i = 0; i < times; i++) {
    call.progress(i, times, `step ${i}`);
    call.partial({ times: i });
  }
  call.log.debug("whispered", { times, big: 2n ** 70n, error: new Error("told") });
  call.log.warn("spoken");
  console.log("printed");
  return { times };
});

plugin.function("wait", { summary: "Wait.", readOnly: true, input: s.object({ ms: s.number() }), output: s.object({ waited: s.boolean() }) }, async ({ ms }, call) => {
  try {
    await sleep(ms, undefined, { signal: call.signal });
  } finally {
    call.log.info("over", { cancelled: call.signal.aborted });
  }
  return { waited: true };
});

plugin.function("stubborn", { summary: "Do not listen to anybody.", readOnly: true, input: s.object({ ms: s.number() }) }, async ({ ms }) => {
  await sleep(ms);
});

plugin.function("patch", { summary: "Change something of the app's.", input: s.object({ id: s.string() }), output: s.object({ got: s.any() }) }, async ({ id }, call) => ({
  got: await call.invoke("koan::Todo.patch", { id, count: 2n ** 70n }),
}));

plugin.function("patch-all", { summary: "Change many at once.", input: s.object({ ids: s.array(s.string()) }), output: s.object({ got: s.array(s.any()) }) }, async ({ ids }, call) => ({
  got: await Promise.all(ids.map((id) => call.invoke("koan::Todo.patch", { id }))),
}));

plugin.function(
  "copy",
  { summary: "Copy a file.", input: s.object({ file: s.file(), drop: s.boolean().default(false) }), output: s.object({ file: s.file(), size: s.integer() }) },
  async ({ file, drop }, call) => {
    const source = await call.file(file);
    const target = await call.createFile(`copy of ${source.name}`, source.type);
    await pipeline(
      source.stream(),
      async function* (pieces) {
        for await (const piece of pieces) yield piece;
        if (drop) throw new Fault("conflict", "dropped");
      },
      target,
    );
    return { file: target.handle, size: target.handle.size };
  },
);

// What is told in JSON Schema.
plugin.function(
  "raw",
  {
    summary: "Take what JSON Schema says.",
    readOnly: true,
    input: { type: "object", properties: { tree: { $ref: "#/$defs/tree" } }, required: ["tree"], additionalProperties: false, $defs: { tree: { type: "object", properties: { value: { type: "integer" }, left: { $ref: "#/$defs/tree" } } } } },
    output: { type: "object" },
  },
  (input) => input,
);

await plugin.serve();

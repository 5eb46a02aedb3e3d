import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { dirname } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { App, Files, result } from "./host.js";

describe("a process", () => {
  /** @type {App} */
  let app;

  before(async () => {
    app = await App.start();
    assert.equal(await app.configure({ city: "Rome", maxDays: "7", apiKey: "secret", verbose: "true" }), undefined);
  });

  after(async () => assert.equal(await app.end(), 0));

  test("shakes hands", () => {
    const socket = app.line.split("|")[3];
    assert.equal(app.line, `1|1|unix|${socket}|grpc`);
    assert.equal(dirname(socket), app.folder);
  });

  test("describes itself", async () => {
    const m = await app.unary("Describe", { app: "test" });
    assert.deepEqual([m.contractVersion, m.domain, m.version, m.faultCodes, m.needs, m.converses, m.keepsState], [1, "sample", "1.2.3", ["too_loud"], ["koan::Todo.patch"], true, true]);
    assert.deepEqual(m.settings.map((each) => [each.key, each.defaultValue, each.secret]), [["city", "Berlin", false], ["apiKey", "", true], ["maxDays", "3", false], ["verbose", "false", false]]);
    const say = m.functions[0];
    assert.deepEqual([say.name, say.summary, say.timeoutMs, say.scopes, say.effects.readOnly, say.effects.outside], ["say", "Say it again.", 2500, ["say"], true, false]);
    assert.deepEqual(JSON.parse(say.example.toString()), { text: "hi" });
    assert.deepEqual(JSON.parse(say.inputSchema.toString()).required, ["text"]);
    assert.equal(m.functions[1].effects.outside, true);
  });

  test("says how it is", async () => assert.deepEqual(await app.bytes("/grpc.health.v1.Health/Check", Buffer.from("\n\x06plugin")), Buffer.from([8, 1])));

  test("serves calls", async () => {
    const about = { key: "k", set: "s", dryRun: true, local: true, trace: "t", subject: "ann", scopes: ["a"], sets: ["b*"], deadlineUnixMs: Date.now() + 5000 };
    const got = await app.call("say", '{"text": "hi", "count": 1180591620717411303424}', about);
    assert.deepEqual(got, {
      text: "hi",
      count: 2n ** 70n,
      about: { id: "c1", key: "k", set: "s", dryRun: true, local: true, trace: "t", subject: "ann", scopes: ["a"], sets: ["b*"], city: "Rome", maxDays: 7, state: "/state", deadline: true },
    });
    assert.deepEqual(await app.call("raw", { tree: { value: 1, left: { value: 2 } } }), { tree: { value: 1, left: { value: 2 } } });
  });

  test("sends long outputs in parts", async () => {
    const events = await app.events("say", { text: "", size: 100_000 }, { parts: true });
    assert.equal(events.filter((each) => each.part).length, 3);
    assert.equal(new Set(events.filter((each) => each.part).map((each) => each.part.size)).size, 1);
    assert.equal(result(events).text, "x".repeat(100_000));
    assert.equal((await app.events("say", { text: "", size: 100_000 })).length, 1);
  });

  test("keeps to the bounds of an output, and takes inputs of any size that an app sends", async () => {
    const { fault } = await app.call("say", { text: "x".repeat(5 << 20) });
    assert.deepEqual([fault.code, fault.details.limit], ["call_too_large", 4 << 20]);
  });

  test("ends in faults", async () => {
    const fault = async (how) => (await app.call("fail", { how })).fault;
    assert.deepEqual(await fault("fault"), { code: "conflict", message: "taken", hint: "take another", path: "/how", details: { by: "bob" }, retry: "never" });
    assert.deepEqual(await fault("own"), { code: "too_loud", message: "not so loud" });
    for (const how of ["undeclared", "unsendable", "error"]) assert.deepEqual(await fault(how), { code: "internal", message: "see the log" }, how);
    assert.deepEqual(await fault("timeout"), { code: "timeout", message: "it did not answer in time" });
    assert.deepEqual(await app.call("fail", { how: "floating" }), {});
    assert.equal((await app.call("nothing")).fault.code, "tool_not_found");
    const unfit = (await app.call("say", { text: "a", txt: 1 })).fault;
    assert.deepEqual([unfit.code, unfit.path], ["invalid_payload", "/txt"]);
    assert.equal((await app.call("raw", { tree: { left: { value: "x" } } })).fault.path, "/tree/left/value");
    assert.equal((await app.call("say", "{")).fault.code, "invalid_payload");
  });

  test("reports progress", async () => {
    const events = await app.events("report", { times: 2 });
    const seen = events.slice(0, -1).map(({ progress: p }) => [p.done, p.total, p.message, p.partial.toString()]);
    assert.deepEqual(seen, [[0, 2, "step 0", ""], [0, 0, "", '{"times":0}'], [1, 2, "step 1", ""], [0, 0, "", '{"times":1}']]);
    assert.deepEqual(await app.call("report", { times: 20_000 }), { times: 20_000 }, "too much of it is dropped");
  });

  test("serves calls at the same time", async () => {
    const began = performance.now();
    await Promise.all(Array.from({ length: 40 }, () => app.call("wait", { ms: 300 })));
    assert.ok(performance.now() - began < 5000, "one after the other they take 12 s");
  });

  test("calls operations of the app", async () => {
    const asked = [];
    const got = await app.converse("patch", { id: "t1" }, (q) => {
      asked.push(q.invoke);
      return { output: Buffer.from('{"count":1180591620717411303424}') };
    });
    assert.deepEqual(got, { got: { count: 2n ** 70n } });
    assert.deepEqual([asked[0].operation, asked[0].input.toString()], ["koan::Todo.patch", '{"id":"t1","count":1180591620717411303424}']);
    const refused = await app.converse("patch", { id: "t1" }, () => ({ fault: Buffer.from('{"code":"approval_required","message":"ask ann","details":{"planId":"p"}}') }));
    assert.deepEqual([refused.fault.code, refused.fault.details], ["approval_required", { planId: "p" }]);
    assert.equal((await app.call("patch", { id: "t1" })).fault.code, "capability_unsupported");
  });

  test("asks many questions at once", async () => {
    const ids = Array.from({ length: 100 }, (_, i) => String(i));
    const got = await app.converse("patch-all", { ids }, (q) => ({ output: q.invoke.input }));
    assert.deepEqual(got.got.map((each) => each.id), ids);
  });

  test("copies files", async () => {
    const data = randomBytes(5 << 20);
    const files = new Files({ f1: data });
    assert.deepEqual(await app.converse("copy", { file: { $file: "f1" } }, files.answer), { file: { $file: "new", name: "a.bin", type: "x/y", size: data.length }, size: data.length });
    assert.ok(files.files.new.equals(data));
    assert.ok(files.pieces < 20, `a piece has up to 1 MiB, and there were ${files.pieces}`);
    const dropped = new Files({ f1: data });
    assert.equal((await app.converse("copy", { file: { $file: "f1" }, drop: true }, dropped.answer)).fault.message, "dropped");
    assert.deepEqual(dropped.closed, []);
  });

  test("hears of cancelled calls", async () => {
    const stream = app.stream("wait", { ms: 100_000 });
    setTimeout(() => stream.cancel(), 100);
    await assert.rejects(stream.toArray(), { code: 1 });
    await assert.rejects(app.stream("wait", { ms: 100_000 }, {}, { deadline: Date.now() + 100 }).toArray(), { code: 4 });
    for (const end = Date.now() + 10_000; ; await sleep(20)) {
      if (app.log.filter((each) => each["@message"] === "over" && each.cancelled).length >= 2) return;
      assert.ok(Date.now() < end, JSON.stringify(app.log));
    }
  });
});

test("the log has levels and values", async () => {
  const app = await App.start();
  await app.configure();
  await app.call("report", { times: 1 });
  await app.call("fail", { how: "error" });
  await app.call("fail", { how: "floating" });
  assert.equal(await app.end(), 0);
  const { "@timestamp": _, error, ...whispered } = app.entry("whispered");
  assert.deepEqual(whispered, { "@level": "debug", "@message": "whispered", function: "report", call: "c1", times: 1, big: "1180591620717411303424" });
  assert.match(error, /^Error: told\n/);
  assert.equal(app.entry("spoken")["@level"], "warn");
  const failed = app.entry("the function failed");
  assert.deepEqual([failed["@level"], failed.function], ["error", "fail"]);
  assert.match(failed.stack, /^Error: inner words\n.*sample\.js/);
  assert.match(app.entry("a promise that nobody waits for was rejected").stack, /floating words/);
  assert.equal(app.entry("closed")["@level"], "info");
  assert.deepEqual(app.log.filter((each) => typeof each === "string"), ["a library greets", "printed"]);
});

test("Shutdown ends it", async () => {
  const app = await App.start();
  await app.bytes("/plugin.GRPCController/Shutdown", Buffer.alloc(0));
  assert.equal(await app.close(), 0);
});

test("a function that does not end holds nobody up, and an interrupt is the app's", async () => {
  const app = await App.start();
  await app.configure();
  app.process.kill("SIGINT");
  const call = assert.rejects(app.call("stubborn", { ms: 100_000 }));
  await sleep(200);
  const began = performance.now();
  assert.equal(await app.end(), 0);
  assert.ok(performance.now() - began < 3000, "the app kills it then");
  await call;
});

test("settings that are wrong", async () => {
  const app = await App.start();
  assert.deepEqual(await app.configure({ city: "Atlantis" }), { code: "invalid_payload", message: "city: it has sunk" });
  assert.deepEqual(await app.configure({ maxDays: "many", verbose: "perhaps" }), { code: "invalid_payload", message: "maxDays must be a number; verbose must be true or false" });
  assert.equal(await app.end(), 0);
});

test("without an app", () => {
  const done = spawnSync(process.execPath, [new URL("sample.js", import.meta.url).pathname], { encoding: "utf8" });
  assert.equal(done.status, 1);
  assert.match(done.stderr, /This is the plugin sample, which an app starts/);
});

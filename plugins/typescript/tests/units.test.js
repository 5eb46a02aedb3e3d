import assert from "node:assert/strict";
import { test } from "node:test";
import { Fault, Plugin, s } from "../dist/index.js";
import { Host } from "../dist/testing.js";
import { Asking } from "../dist/ask.js";
import { parse, stringify } from "../dist/json.js";
import { problemsOf } from "../dist/schema.js";

test("JSON keeps whole numbers whole", () => {
  const big = 123456789012345678901234567890n;
  for (const [text, value] of [
    ['{"a":[1,-2.5e3,9007199254740991]}', { a: [1, -2500, 9007199254740991] }],
    [`[${big},-${big},9007199254740993]`, [big, -big, 9007199254740993n]],
    [`{"${big}":"${big}","b":"\\\\\\"${big}"}`, { [big]: String(big), b: `\\"${big}` }],
    [`[1.2345678901234567890,1e400]`, [1.2345678901234567, Infinity]],
    [`{"__proto__":${big}}`, JSON.parse('{"__proto__":0}')],
  ]) {
    const got = parse(text);
    if (text.includes("__proto__")) assert.equal(Object.getOwnPropertyDescriptor(got, "__proto__").value, big);
    else assert.deepEqual(got, value);
  }
  for (const wrong of ["{", `[${big}`, `"${big}`, `0${big}`, `[${big},]`]) assert.throws(() => parse(wrong), SyntaxError, wrong);
  assert.equal(stringify({ a: big, b: [-1n], c: "1n" }), `{"a":${big},"b":[-1],"c":"1n"}`);
  for (const wrong of [Number.NaN, { a: Infinity }, undefined, () => {}]) assert.throws(() => stringify(wrong), TypeError);
  const long = `{"text":"${"x\\\"".repeat(1 << 20)}","n":${big}}`;
  assert.equal(parse(long).n, big, "texts may be long");
});

const point = s.object({ x: s.integer(), y: s.bigint().default(2n), tags: s.array(s.string()).optional(), kind: s.enum(["a", "b"]).default("a"), at: s.number().nullable() });

test("builders make schemas", () => {
  assert.deepEqual(point.schema, {
    type: "object",
    properties: {
      x: { type: "integer", minimum: -(2 ** 53 - 1), maximum: 2 ** 53 - 1 },
      y: { type: "integer", default: 2 },
      tags: { type: "array", items: { type: "string" } },
      kind: { enum: ["a", "b"], default: "a" },
      at: { type: ["number", "null"] },
    },
    required: ["x", "at"],
    additionalProperties: false,
  });
  assert.deepEqual(point.read({ x: 1, at: null }), { x: 1, y: 2n, kind: "a", at: null });
  assert.deepEqual(point.read({ x: 1, y: 7, at: 1.5, tags: ["t"] }), { x: 1, y: 7n, kind: "a", at: 1.5, tags: ["t"] });
  assert.deepEqual(s.record(s.union([s.bigint(), s.string()])).read({ a: 1, b: "c" }), { a: 1n, b: "c" });
  assert.deepEqual(s.string({ pattern: "^a", description: "what" }).schema, { type: "string", pattern: "^a", description: "what" });
});

test("what is out of a schema is named by its path", () => {
  for (const [schema, value, problems] of [
    [point.schema, { x: 1.5, z: 1 }, [["/at", "is missing"], ["/x", "must be a whole number"], ["/z", "is not known"]]],
    [point.schema, { x: 2n ** 60n, at: null }, [["/x", "must be at most 9007199254740991"]]],
    [point.schema, [], [["", "must be an object"]]],
    [s.array(s.string({ maxLength: 2 }), { minItems: 1 }).schema, ["ab", "abc", 1], [["/1", "must have at most 2 characters"], ["/2", "must be a string"]]],
    [s.array(s.string(), { minItems: 1 }).schema, [], [["", "must have at least 1 items"]]],
    [s.record(s.boolean()).schema, { "a/b~": 1 }, [["/a~1b~0", "must be true or false"]]],
    [s.union([s.string(), s.number()]).schema, null, [["", "must be a string"]]],
    [s.enum(["a", 1]).schema, "b", [["", 'must be one of "a", 1']]],
    [s.string({ pattern: "^a" }).schema, "b", [["", "must match ^a"]]],
    [s.file().schema, "f1", [["", "must be an object"]]],
    [{ const: { a: 1 } }, { a: 2 }, [["", 'must be {"a":1}']]],
    [{ $ref: "#/$defs/a~1b", $defs: { "a/b": { type: "null" } } }, 1, [["", "must be null"]]],
  ]) {
    assert.deepEqual(problemsOf(schema, value).map((each) => [each.path, each.message]), problems);
  }
});

test("mistakes are told at once", () => {
  const plugin = new Plugin({ domain: "maps", version: "1" });
  const draw = () => {};
  assert.throws(() => plugin.function("getAll", { summary: "x" }, draw), /the function getAll: the name is not lower-case kebab/);
  assert.throws(() => plugin.function("get", { summary: "x", output: s.array(s.string()) }, draw), /the function get: the output is not an object/);
  assert.throws(() => plugin.function("get", { summary: "x", input: point, example: { y: "a" } }, draw), /the example: \/x is missing; \/at is missing; \/y must be a whole number/);
  plugin.function("draw", { summary: "Draw." }, draw);
  assert.throws(() => plugin.function("draw", { summary: "Draw." }, draw), /is declared twice/);
  for (const domain of ["Maps", "my_maps", "", "-a", "a".repeat(49)]) assert.throws(() => new Plugin({ domain, version: "1" }), /is not lower-case kebab/);
  for (const code of ["not_found", "TooLoud", "", "a__b"]) assert.throws(() => new Plugin({ domain: "maps", version: "1", faultCodes: [code] }), /is not in snake_case, or is one of the app's own/);
  assert.throws(() => new Plugin({ domain: "maps", version: "1", needs: ["Todo.patch"] }), /is not the id of an operation/);
  assert.throws(() => new Plugin({ domain: "maps", version: "1", needs: Array(101).fill("koan::*") }), /101 needs/);
  assert.throws(() => plugin.settings, /is not configured yet/);
});

test("a plugin is bounded", () => {
  const plugin = new Plugin({ domain: "maps", version: "1" });
  assert.throws(() => plugin.manifest(), /has no functions/);
  for (let i = 0; i < 1001; i++) plugin.function(`draw-${i}`, { summary: "x".repeat(1500) }, () => {});
  assert.throws(() => plugin.manifest(), /has 1001 functions; 1000 are allowed/);
  plugin.functions.delete("draw-0");
  assert.throws(() => plugin.manifest(), /describes itself in \d+ bytes; 1048576 are allowed/);
});

test("a setting without a default must be configured", async () => {
  const plugin = new Plugin({ domain: "maps", version: "1", settings: { root: { folder: true }, depth: { default: 3 } } });
  await assert.rejects(plugin.configure({}), { code: "invalid_payload", message: "root is missing" });
  await plugin.configure({ root: "/maps", depth: "4" });
  assert.deepEqual(plugin.settings, { root: "/maps", depth: 4 });
});

test("authors test functions with a host", async () => {
  for (const [metrics, message] of [
    [[{ name: "Lines" }], /is not in snake_case/],
    [[{ name: "lines_total" }], /ends as Prometheus/],
    [[{ name: "lines" }, { name: "lines" }], /is declared twice/],
    [Array.from({ length: 51 }, (_, i) => ({ name: `m${i}` })), /51 metrics/],
  ]) {
    assert.throws(() => new Plugin({ domain: "maps", version: "1", metrics }), message);
  }
  const plugin = new Plugin({ domain: "maps", version: "1", metrics: [{ name: "lines" }] });
  plugin.function("draw", { summary: "Draw.", input: s.object({ file: s.file(), name: s.string() }), output: { type: "object" } }, async ({ file, name }, call) => {
    call.progress(1, 2, "half");
    call.partial({ so: "far" });
    call.measure("lines", 2);
    call.measure("lines", -1);
    call.measure("unknown");
    await assert.rejects(call.span("ink", () => { throw new TypeError("dry"); }), TypeError);
    const source = await call.file(file);
    const target = await call.createFile(name);
    target.write((await source.read(2, 100)).toString().toUpperCase());
    return { file: await target.close("!"), todo: await call.invoke("koan::Todo.get", { id: name }), who: call.caller.subject };
  });
  const host = new Host({ operations: { "koan::Todo.get": ({ id }) => ({ title: `${id}!` }) } });
  const file = host.addFile("a.txt", "abcd");
  const got = await host.run(plugin, "draw", { file: { $file: file.$file }, name: "b" }, { subject: "ann" });
  assert.deepEqual(got, { file: { $file: "file-2", name: "b", size: 3, type: "" }, todo: { title: "b!" }, who: "ann" });
  assert.equal(host.files.get("file-2").data.toString(), "CD!");
  assert.deepEqual(host.progress, [{ done: 1, total: 2, message: "half" }, { done: 0, total: 0, message: "", partial: { so: "far" } }]);
  assert.deepEqual([host.measured, host.spans], [[{ metric: "lines", value: 2 }], [{ name: "ink", failed: true }]]);
  await assert.rejects(host.run(plugin, "draw", { file: { $file: "x" }, name: "b" }), { code: "not_found" });
  await assert.rejects(host.run(plugin, "draw", {}), { code: "invalid_payload" });
  await assert.rejects(new Host().call().invoke("koan::Todo.get"), { code: "forbidden" });
});

test("sixteen questions are open at a time, and the end of a call ends them", async () => {
  const sent = [];
  const asking = new Asking((event) => sent.push(event.question.id));
  const all = Array.from({ length: 20 }, () => asking.ask({ openFile: { file: "f" } }));
  await Promise.resolve();
  assert.equal(sent.length, 16);
  asking.take({ id: 3, result: "data", data: Buffer.from("three") });
  asking.take({ id: 99 });
  assert.equal((await all[2]).data.toString(), "three");
  assert.equal(sent.length, 17);
  asking.end(new Fault("cancelled", "over"));
  const outcomes = await Promise.allSettled(all);
  assert.equal(outcomes.filter((each) => each.status === "rejected" && each.reason.message === "over").length, 19);
});

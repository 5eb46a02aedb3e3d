// What TypeScript has to know of a plugin: compiled, never run (tests/tsconfig.json).

import { type Call, type FileHandle, type Infer, Plugin, s } from "koan-plugin";
import { Host } from "koan-plugin/testing";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
const is = <T extends true>(): T | undefined => undefined;

const plugin = new Plugin({
  domain: "types",
  version: "1.0.0",
  settings: { city: { default: "Berlin" }, key: { secret: true }, days: { default: 3 }, loud: { default: false } },
  configure(settings) {
    is<Equal<typeof settings, { readonly city: string; readonly key: string; readonly days: number; readonly loud: boolean }>>();
  },
});
is<Equal<typeof plugin.settings.days, number>>();

const input = s.object({
  text: s.string(),
  count: s.bigint().default(1n),
  note: s.string().optional(),
  kind: s.enum(["a", "b"]),
  file: s.file(),
  at: s.number().nullable(),
  pairs: s.record(s.array(s.boolean())),
  either: s.union([s.string(), s.integer()]),
});
is<Equal<Infer<typeof input>, { text: string; count: bigint; kind: "a" | "b"; file: FileHandle; at: number | null; pairs: Record<string, boolean[]>; either: string | number; note?: string | undefined }>>();

plugin
  .function("typed", { summary: "Typed.", input, output: s.object({ value: s.integer() }) }, async (given, call) => {
    is<Equal<typeof given, Infer<typeof input>>>();
    is<Equal<typeof call, Call>>();
    const todo = await call.invoke<{ title: string }>("koan::Todo.get", { id: "t1" });
    return { value: todo.title.length };
  })
  .function("nothing", { summary: "Nothing." }, () => {})
  .function("raw", { summary: "Raw.", input: { type: "object" }, output: { type: "object" } }, (given) => ({ ...given }));

// @ts-expect-error what is returned is not of its schema
plugin.function("wrong", { summary: "Wrong.", output: s.object({ value: s.integer() }) }, () => ({ value: "1" }));
// @ts-expect-error it has no such setting
plugin.settings.town;
// @ts-expect-error an array has no items that may be left out
s.array(s.string().optional());

export const result: Promise<unknown> = new Host().run(plugin, "nothing");

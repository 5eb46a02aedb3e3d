// Schemas: builders that know their type in TypeScript, and JSON Schema as it is.

import { Fault } from "./fault.js";

/** A JSON Schema. */
export type JsonSchema = { readonly [keyword: string]: unknown };

/** A value that is out of a schema: where, as a JSON Pointer, and why. */
export interface Problem {
  path: string;
  message: string;
}

declare const type: unique symbol;
declare const optional: unique symbol;

/** A schema whose values have a type in TypeScript. */
export class Shape<T, O extends boolean = false> {
  declare readonly [type]: T;
  declare readonly [optional]: O;

  constructor(
    readonly schema: JsonSchema,
    /** Makes the value that a function gets of one that fits. */
    readonly read: (value: any) => unknown = (value) => value,
    readonly isOptional: O = false as O,
    readonly fallback?: { readonly value: T },
  ) {}

  /** It may be left out. */
  optional(): Shape<T | undefined, true> {
    return new Shape<T | undefined, true>(this.schema, this.read, true);
  }

  /** It may be left out, and is this then. */
  default(value: T): Shape<T, true> {
    const shown = typeof value === "bigint" ? Number(value) : value;
    return new Shape<T, true>({ ...this.schema, default: shown }, this.read, true, { value });
  }

  /** It may be null. */
  nullable(): Shape<T | null> {
    const schema = typeof this.schema.type === "string" && !this.schema.enum ? { ...this.schema, type: [this.schema.type, "null"] } : { anyOf: [this.schema, { type: "null" }] };
    return new Shape<T | null>(schema, (value) => (value === null ? null : this.read(value)));
  }

  /** What it is, for people and models. */
  describe(description: string): Shape<T, O> {
    return new Shape<T, O>({ ...this.schema, description }, this.read, this.isOptional, this.fallback);
  }
}

/** The type of a shape's values. */
export type Infer<S> = S extends Shape<infer T, boolean> ? T : never;

type Members = Record<string, Shape<any, boolean>>;
type Flat<T> = { [K in keyof T]: T[K] };
/** The values that a function gets, and returns. */
type ObjectOf<M extends Members> = Flat<
  { [K in keyof M as M[K] extends Shape<any, false> ? K : undefined extends Infer<M[K]> ? never : K]: Infer<M[K]> } & {
    [K in keyof M as M[K] extends Shape<any, false> ? never : undefined extends Infer<M[K]> ? K : never]?: Infer<M[K]>;
  }
>;

interface Texts {
  description?: string;
}

/** A file of the app's: what callers pass, and what a function returns for one that it has written. */
export interface FileHandle {
  readonly $file: string;
  readonly name?: string;
  /** A media type. */
  readonly type?: string;
  /** In bytes. */
  readonly size?: number;
}

const keep = (options: object): Record<string, unknown> => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));

/** Builders of schemas. */
export const s = {
  string: (options: Texts & { minLength?: number; maxLength?: number; pattern?: string; format?: string } = {}) => new Shape<string>({ type: "string", ...keep(options) }),

  number: (options: Texts & { minimum?: number; maximum?: number } = {}) => new Shape<number>({ type: "number", ...keep(options) }, Number),

  /** A whole number that is safe as a number: at most 2^53 - 1. */
  integer: (options: Texts & { minimum?: number; maximum?: number } = {}) =>
    new Shape<number>({ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...keep(options) }),

  /** A whole number of any size. */
  bigint: (options: Texts & { minimum?: number } = {}) => new Shape<bigint>({ type: "integer", ...keep(options) }, (value: number | bigint) => BigInt(value)),

  boolean: (options: Texts = {}) => new Shape<boolean>({ type: "boolean", ...keep(options) }),

  /** One of several values. */
  enum: <const V extends readonly (string | number | boolean)[]>(values: V, options: Texts = {}) => new Shape<V[number]>({ enum: values, ...keep(options) }),

  array: <T>(item: Shape<T>, options: Texts & { minItems?: number; maxItems?: number } = {}) =>
    new Shape<T[]>({ type: "array", items: item.schema, ...keep(options) }, (value: unknown[]) => value.map(item.read)),

  /** An object with these members and no others. */
  object: <M extends Members>(members: M, options: Texts = {}) => {
    const required = Object.keys(members).filter((key) => !members[key]!.isOptional);
    const properties = Object.fromEntries(Object.entries(members).map(([key, member]) => [key, member.schema]));
    const schema = { type: "object", properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false, ...keep(options) };
    return new Shape<ObjectOf<M>>(schema, (value: Record<string, unknown>) => {
      const out: Record<string, unknown> = {};
      for (const [key, member] of Object.entries(members)) {
        if (Object.hasOwn(value, key)) out[key] = member.read(value[key]);
        else if (member.fallback) out[key] = structuredClone(member.fallback.value);
      }
      return out;
    });
  },

  /** An object with any keys. */
  record: <T>(item: Shape<T>, options: Texts = {}) =>
    new Shape<Record<string, T>>({ type: "object", additionalProperties: item.schema, ...keep(options) }, (value: Record<string, unknown>) =>
      Object.fromEntries(Object.entries(value).map(([key, each]) => [key, item.read(each)])),
    ),

  /** A value of one of several shapes: the first that fits. */
  union: <const S extends readonly Shape<any>[]>(shapes: S, options: Texts = {}) =>
    new Shape<Infer<S[number]>>({ anyOf: shapes.map((each) => each.schema), ...keep(options) }, (value) => shapes.find((each) => problemsOf(each.schema, value).length === 0)?.read(value) ?? value),

  /** A file of the app's. */
  file: (options: Texts = {}) =>
    new Shape<FileHandle>({
      type: "object",
      properties: { $file: { type: "string", description: "The id of a file." }, name: { type: "string" }, type: { type: "string", description: "A media type." }, size: { type: "integer", description: "In bytes." } },
      required: ["$file"],
      additionalProperties: false,
      ...keep(options),
    }),

  /** Any JSON. */
  any: (options: Texts = {}) => new Shape<any>(keep(options)),

  /** A JSON Schema as it is. Whole numbers beyond 2^53 are bigint. */
  raw: <T = any>(schema: JsonSchema) => new Shape<T>(schema),
};

const names: Record<string, string> = { string: "a string", number: "a number", integer: "a whole number", boolean: "true or false", null: "null", array: "a list", object: "an object" };

function isOf(kind: unknown, value: unknown): boolean {
  switch (kind) {
    case "integer":
      return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
    case "number":
      return typeof value === "bigint" || typeof value === "number";
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return typeof value === "object" && value !== null && !Array.isArray(value);
  }
  return typeof value === kind;
}

/**
 * Returns what of a value is out of a schema, by the keywords that people write most. The app has checked inputs by all
 * keywords.
 */
export function problemsOf(schema: JsonSchema, value: unknown, root: JsonSchema = schema, path = ""): Problem[] {
  const fail = (message: string): Problem[] => [{ path, message }];
  if (typeof schema.$ref === "string") return problemsOf(resolve(schema.$ref, root), value, root, path);
  const kinds = schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
  if (kinds.length > 0 && !kinds.some((kind) => isOf(kind, value))) return fail(`must be ${names[String(kinds[0])] ?? kinds[0]}`);
  if (Array.isArray(schema.enum) && !schema.enum.some((each) => same(each, value))) return fail(`must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`);
  if ("const" in schema && !same(schema.const, value)) return fail(`must be ${JSON.stringify(schema.const)}`);
  if (Array.isArray(schema.anyOf)) {
    const all = (schema.anyOf as JsonSchema[]).map((each) => problemsOf(each, value, root, path));
    if (!all.some((problems) => problems.length === 0)) return all[0] ?? [];
  }
  const why = outOfBounds(schema, value);
  if (why) return fail(why);
  if (Array.isArray(value)) {
    const items = schema.items;
    return isSchema(items) ? value.flatMap((each, i) => problemsOf(items, each, root, `${path}/${i}`)) : [];
  }
  return isOf("object", value) ? problemsOfMembers(schema, value as Record<string, unknown>, root, path) : [];
}

function problemsOfMembers(schema: JsonSchema, value: Record<string, unknown>, root: JsonSchema, path: string): Problem[] {
  const properties = (schema.properties ?? {}) as Record<string, JsonSchema>;
  const at = (key: string): string => `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
  const out: Problem[] = [];
  for (const key of (schema.required as string[] | undefined) ?? []) {
    if (!Object.hasOwn(value, key)) out.push({ path: at(key), message: "is missing" });
  }
  for (const [key, each] of Object.entries(value)) {
    const own = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
    if (own === false) out.push({ path: at(key), message: "is not known" });
    else if (isSchema(own)) out.push(...problemsOf(own, each, root, at(key)));
  }
  return out;
}

function outOfBounds(schema: JsonSchema, value: unknown): string {
  const bound = (key: string): number | undefined => (typeof schema[key] === "number" ? schema[key] : undefined);
  const beyond = (size: number | bigint, least: string, most: string, text: (n: number) => [string, string]): string => {
    const [min, max] = [bound(least), bound(most)];
    if (min !== undefined && size < min) return text(min)[0];
    if (max !== undefined && size > max) return text(max)[1];
    return "";
  };
  if (typeof value === "number" || typeof value === "bigint") return beyond(value, "minimum", "maximum", (n) => [`must be at least ${n}`, `must be at most ${n}`]);
  const counted = (unit: string) => (n: number): [string, string] => [`must have at least ${n} ${unit}`, `must have at most ${n} ${unit}`];
  if (Array.isArray(value)) return beyond(value.length, "minItems", "maxItems", counted("items"));
  if (typeof value !== "string") return "";
  const why = beyond([...value].length, "minLength", "maxLength", counted("characters"));
  if (why || typeof schema.pattern !== "string") return why;
  return new RegExp(schema.pattern, "u").test(value) ? "" : `must match ${schema.pattern}`;
}

function isSchema(value: unknown): value is JsonSchema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function same(a: unknown, b: unknown): boolean {
  return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}

/** Finds what a reference within a schema refers to. */
function resolve(reference: string, root: JsonSchema): JsonSchema {
  let at: unknown = root;
  for (const part of reference.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    at = isSchema(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
  }
  return isSchema(at) ? at : {};
}

/** Makes the fault of an input that does not fit. */
export function unfit(problems: Problem[]): Fault {
  const first = problems[0]!;
  return new Fault("invalid_payload", `${first.path || "the input"}: ${first.message}`, { path: first.path, details: problems });
}

package typegen

import "strings"

const header = "// What a script can call through SDK. All calls are synchronous; a failure throws a KoanError.\n\n"

// globals are what the sandbox has besides SDK and the language. They merge with
// the same names of the DOM's and Node's declarations.
const globals = `declare class KoanError extends Error {
  readonly code: string;
  /** The next step. */
  readonly hint: string;
  /** A JSON Pointer into the input of the call. */
  readonly path?: string;
  readonly details?: any;
  readonly retry: "safe" | "fix" | "never";
}
interface Console {
  log(...data: any[]): void;
  info(...data: any[]): void;
  warn(...data: any[]): void;
  error(...data: any[]): void;
  debug(...data: any[]): void;
}
declare var console: Console;
declare function setTimeout(handler: (...args: any[]) => void, timeout?: number, ...args: any[]): number;
declare function clearTimeout(id: number | undefined): void;
declare function queueMicrotask(callback: () => void): void;
interface ObjectConstructor {
  groupBy<K extends PropertyKey, T>(items: Iterable<T>, keySelector: (item: T, index: number) => K): Partial<Record<K, T[]>>;
}
interface MapConstructor {
  groupBy<K, T>(items: Iterable<T>, keySelector: (item: T, index: number) => K): Map<K, T[]>;
}
interface PromiseConstructor {
  withResolvers<T>(): { promise: Promise<T>; resolve: (value: T | PromiseLike<T>) => void; reject: (reason?: any) => void };
}
interface ArrayConstructor {
  fromAsync<T>(items: AsyncIterable<T> | Iterable<T | PromiseLike<T>>): Promise<T[]>;
}
declare function structuredClone<T = any>(value: T, options?: any): T;
declare function atob(data: string): string;
declare function btoa(data: string): string;
interface URLSearchParams {
  readonly size: number;
  append(name: string, value: string): void;
  delete(name: string, value?: string): void;
  get(name: string): string | null;
  getAll(name: string): string[];
  has(name: string, value?: string): boolean;
  set(name: string, value: string): void;
  sort(): void;
  forEach(callback: (value: string, key: string, parent: URLSearchParams) => void): void;
  entries(): IterableIterator<[string, string]>;
  keys(): IterableIterator<string>;
  values(): IterableIterator<string>;
  toString(): string;
  [Symbol.iterator](): IterableIterator<[string, string]>;
}
declare var URLSearchParams: typeof globalThis extends { onmessage: any; URLSearchParams: infer T } ? T : { prototype: URLSearchParams; new(init?: any): URLSearchParams };
interface URL {
  hash: string;
  host: string;
  hostname: string;
  href: string;
  readonly origin: string;
  password: string;
  pathname: string;
  port: string;
  protocol: string;
  search: string;
  readonly searchParams: URLSearchParams;
  username: string;
  toString(): string;
  toJSON(): string;
}
declare var URL: typeof globalThis extends { onmessage: any; URL: infer T } ? T : { prototype: URL; new(url: string | URL, base?: string | URL): URL; canParse(url: string | URL, base?: string | URL): boolean };
interface TextEncoder {
  readonly encoding: string;
  encode(input?: string): Uint8Array;
}
declare var TextEncoder: typeof globalThis extends { onmessage: any; TextEncoder: infer T } ? T : { prototype: TextEncoder; new(): TextEncoder };
interface TextDecoder {
  readonly encoding: string;
  readonly fatal: boolean;
  readonly ignoreBOM: boolean;
  decode(input?: any, options?: any): string;
}
declare var TextDecoder: typeof globalThis extends { onmessage: any; TextDecoder: infer T } ? T : { prototype: TextDecoder; new(label?: string, options?: any): TextDecoder };
interface Crypto {
  /** Random under the run's seed: the same in every attempt. */
  randomUUID(): ` + "`${string}-${string}-${string}-${string}-${string}`" + `;
}
declare var crypto: Crypto;
`

// core is what SDK always has.
const core = `  /** The run's args, as the caller gave them. */
  const args: any;
  const run: { readonly id: string; readonly set: string; readonly dryRun: boolean };
  namespace Out {
    /** What the user should see: any JSON value. The last one counts. */
    function answer(value: any): void;
    function info(message: any): void;
    function warn(message: any): void;
    function error(message: any): void;
    function progress(done: number, total?: number, message?: string): void;
  }
`

// filterTypes are the types that filters, pages and `with` are made of; has tells
// which operators the entities' operations take.
func filterTypes(has func(operator string) bool) string {
	members := func(typed ...[2]string) string {
		var out []string
		for _, m := range typed {
			if has(m[0]) {
				out = append(out, m[0]+"?: "+m[1])
			}
		}
		return strings.Join(out, "; ")
	}
	return `
  type Id = string | number;
  interface Page<T> { items: T[]; page: number; pageSize: number; totalCount?: number; nextCursor?: string | null; truncated: boolean }
  type Ref = Id | { id?: Id };
  /** Relationships are written by id; a list replaces. */
  type Input<T> = { [K in keyof T]: unknown extends T[K] ? any : NonNullable<T[K]> extends string | number | boolean ? T[K]
    : NonNullable<T[K]> extends readonly (infer I)[] ? I extends { id?: string } ? Ref[] | { $add?: Ref[]; $remove?: Ref[]; $set?: Ref[] } : T[K]
    : NonNullable<T[K]> extends { id?: string } ? Ref | null : T[K] };
  /** A bare value means $eq; siblings are joined by and. */
  type Filter<T> = { [K in keyof T]?: (unknown extends T[K] ? ` + anything(has) + ` : Condition<NonNullable<T[K]>>) | null } & { ` +
		members([2]string{"$and", "Filter<T>[]"}, [2]string{"$or", "Filter<T>[]"}, [2]string{"$nor", "Filter<T>[]"}, [2]string{"$not", "Filter<T>"}, [2]string{"$search", "string"}) + ` };
  type Condition<V> = [V] extends [boolean] ? V | Equal<V> : [V] extends [number] ? V | Order<V>
    : [V] extends [string] ? V | (string extends V ? Text<V> : Equal<V>)
    : [V] extends [readonly (infer I)[]] ? (unknown extends I ? List<any> : [I] extends [string | number | boolean] ? List<I> : ToMany<I>)
    : string extends keyof V ? Json : Filter<V>;
  interface Equal<V> { ` + members([2]string{"$eq", "V | null"}, [2]string{"$ne", "V | null"}, [2]string{"$in", "(V | null)[]"}, [2]string{"$nin", "(V | null)[]"}, [2]string{"$null", "boolean"}) + ` }
  interface Order<V> extends Equal<V> { ` + members([2]string{"$lt", "V"}, [2]string{"$lte", "V"}, [2]string{"$gt", "V"}, [2]string{"$gte", "V"}, [2]string{"$between", "[V, V]"}) + ` }
  interface Text<V> extends Order<V> { ` + members([2]string{"$contains", "string"}, [2]string{"$icontains", "string"}, [2]string{"$startsWith", "string"}, [2]string{"$endsWith", "string"}) + ` }
  interface Json { ` + members([2]string{"$eq", "null"}, [2]string{"$ne", "null"}, [2]string{"$null", "boolean"}, [2]string{"$path", "Paths"}) + ` }
  interface List<I> extends Json { ` + members([2]string{"$has", "I"}, [2]string{"$all", "I[]"}, [2]string{"$size", "number"}) + ` }
  interface ToMany<T> { ` + members([2]string{"$some", "Filter<T>"}, [2]string{"$every", "Filter<T>"}, [2]string{"$none", "Filter<T>"}, [2]string{"$exists", "boolean"}) + ` }
` + paths(has) + `  type Target<E> = NonNullable<E> extends readonly (infer I)[] ? I : NonNullable<E>;
  interface EdgeQuery<T> { limit?: number; sort?: string | string[]; filter?: Filter<T>; fields?: string | string[]; with?: string | string[] | { [edge: string]: any } }
  type With<T, R extends string> = [R] extends [never] ? never
    : R | ` + "`${R},${string}` | `${R}.${string}` | readonly (R | `${R}.${string}`)[]" + ` | { [K in Exclude<R, "all">]?: true | (K extends keyof T ? EdgeQuery<Target<T[K]>> : never) };
`
}

// anything is the condition of a field of which the schema says no type.
func anything(has func(operator string) bool) string {
	if has("$path") {
		return "List<any>"
	}
	return "any"
}

// paths is the type of what looks into JSON: "a.b[0]" and a condition.
func paths(has func(operator string) bool) string {
	if !has("$path") {
		return ""
	}
	return "  /** Paths such as \"a.b[0]\", each with a condition. */\n" +
		"  interface Paths { [path: string]: Scalar | null | (Text<any> & { $has?: Scalar; $all?: Scalar[]; $size?: number }) }\n" +
		"  type Scalar = string | number | boolean;\n"
}

// aggregateTypes are what the options of an aggregate are made of.
const aggregateTypes = `  /** The fields of an entity, without its relationships. */
  type Plain<T> = { [K in keyof T]-?: NonNullable<T[K]> extends object ? never : K }[keyof T] & string;
  type Names<F extends string> = F | ` + "`${F},${string}`" + ` | readonly F[];
  interface Bucket<F> { field: F; by?: "day" | "week" | "month" | "year"; as?: string }
  type Groups<F extends string> = Names<F> | Bucket<F> | readonly (F | Bucket<F>)[];
`

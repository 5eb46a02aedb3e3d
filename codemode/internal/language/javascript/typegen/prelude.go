package typegen

import (
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

const header = "// What a script can call through SDK. All calls are synchronous; a failure throws a KoanError.\n\n"

// globals are the globals of the sandbox besides SDK and the language. They merge with the
// same names of the DOM's and Node's declarations.
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
  trace(...data: any[]): void;
  dir(item?: any, options?: any): void;
  table(data?: any, columns?: string[]): void;
  group(...data: any[]): void;
  groupCollapsed(...data: any[]): void;
  groupEnd(): void;
  assert(condition?: boolean, ...data: any[]): void;
  count(label?: string): void;
  countReset(label?: string): void;
  time(label?: string): void;
  timeLog(label?: string, ...data: any[]): void;
  timeEnd(label?: string): void;
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
  getRandomValues<T>(array: T): T;
}
declare var crypto: Crypto;
`

// emitting is the member that few scripts need; the description of koan.code.execute, which
// costs every conversation, leaves it out.
const emitting = `    /** A part of the result, sent while the script runs. */
    function emit(value: any): void;
`

// shorter leaves out what few scripts need.
var shorter = strings.NewReplacer(emitting, "", files, filesInline)

// core is the part of SDK that every app has.
const core = `  /** The run's args, as the caller gave them. */
  const args: any;
  const run: { readonly id: string; readonly set: string; readonly dryRun: boolean };
  namespace Out {
    /** What the user should see: any JSON value. The last one counts. */
    function answer(value: any): void;
` + emitting + `    function info(message: any): void;
    function warn(message: any): void;
    function error(message: any): void;
    function progress(done: number, total?: number, message?: string): void;
    /** Puts a file into the result. */
    function file(id: string | { id: string }): any;
  }
`

// operands are the types of the operands of a field's operators.
type operands struct{ value, list string }

// of returns the type of an operator's operand.
func (t operands) of(takes catalog.Operand) string {
	switch takes {
	case catalog.OneValue:
		return t.value
	case catalog.ListValues:
		return t.list
	case catalog.TwoValues:
		return "readonly [" + t.value + ", " + t.value + "]"
	case catalog.Flag:
		return "boolean"
	case catalog.PartOfText, catalog.SearchText:
		return "string"
	case catalog.ListTexts:
		return "readonly string[]"
	case catalog.Length:
		return "number"
	case catalog.PathObject:
		return "Paths"
	case catalog.OneFilter:
		return "Filter<T>"
	case catalog.ListFilter:
		return "Filter<T>[]"
	}
	panic("typegen: an operand without a type")
}

// members writes the operators for which has returns true.
func (t operands) members(operators []string, has func(operator string) bool) string {
	var out []string
	for _, name := range operators {
		if op, ok := catalog.FilterOperatorNamed(name); ok && has(name) {
			out = append(out, name+"?: "+t.of(op.Takes))
		}
	}
	return strings.Join(out, "; ")
}

// kinds are the kinds of fields that some entity has: types that only these need are written for
// them alone.
type kinds struct {
	days      bool // days of the calendar
	numerics  bool // strings that are written as numbers too
	wide      bool // integers that may be strings
	inherited bool // fields or relationships that are called like a member of each object
}

// filterTypes are the types of filters, pages and `with`; has reports which operators the
// entities' operations take. In self-contained declarations of one entity, the types
// beyond its neighbours are any: conditions on them are not checked.
func filterTypes(has func(operator string) bool, alone bool, some kinds) string {
	members := func(operators []string, value, list string) string {
		return operands{value, list}.members(operators, has)
	}
	open, far := "List<any> | null", "never"
	day, ofDay := "", ""
	if some.days {
		day = "  /** A day of the calendar: a string, never a Date. */\n  type Day = string & { readonly \"YYYY-MM-DD\"?: never };\n"
		ofDay = "\"YYYY-MM-DD\" extends keyof N ? Order<V> : "
	}
	numeric, ofNumeric := "", ""
	if some.numerics {
		numeric = "  /** A string; in inputs and filters also a number. */\n  type Numeric = string & { readonly \"or a number\"?: never };\n"
		ofNumeric = "\"or a number\" extends keyof NonNullable<F> ? number : "
	}
	ofWide := ""
	if some.wide {
		ofWide = "[N] extends [number | string] ? V | Order<V> : "
	}
	inherited, orInherited := "", ""
	if some.inherited {
		inherited = "  /** What an object inherits from Object under a name, and thus has without being written. */\n  type Inherited<K> = K extends keyof Object ? Object[K] : never;\n"
		orInherited = " | Inherited<K>"
	}
	switch {
	case alone:
		open, far = "any", "F"
	case !has("$path"):
		open = "any"
	}
	return `
  type Id = string | number;
  /** A string; in inputs and filters also a Date. */
  type Time = string & { readonly "RFC 3339"?: never };
` + day + numeric + inherited + `  /** What may be written instead of a string. */
  type Native<F> = [NonNullable<F>] extends [string] ? "RFC 3339" extends keyof NonNullable<F> ? Date : ` + ofNumeric + `never : never;
  interface Page<T> { items: T[]; page: number; pageSize: number; totalCount?: number; nextCursor?: string | null; truncated: boolean }
  /** Lazy: pages are read as they are needed. */
  interface Items<T> extends IterableIterator<T> { map<U>(f: (item: T, i: number) => U): Items<U>; filter(f: (item: T, i: number) => unknown): Items<T>; take(n: number): Items<T>; drop(n: number): Items<T>; flatMap<U>(f: (item: T, i: number) => Iterable<U>): Items<U>; reduce<U>(f: (sum: U, item: T, i: number) => U, start: U): U; forEach(f: (item: T, i: number) => void): void; some(f: (item: T, i: number) => unknown): boolean; every(f: (item: T, i: number) => unknown): boolean; find(f: (item: T, i: number) => unknown): T | undefined; toArray(): T[] }
  type Target<F> = NonNullable<F> extends readonly (infer I)[] ? I : NonNullable<F>;
  /** The entity that a relationship leads to; never for a field. */
  type Edge<F> = unknown extends F ? ` + far + ` : string extends keyof Target<F> ? never : "id" extends keyof Target<F> ? Target<F> : never;
  type Ref = Id | { id?: Id };
  /** What is written: each field may be absent. Relationships are written by id; a list replaces. */
  type Input<T> = { [K in keyof T]?: Written<T[K]>` + orInherited + ` };
  type Written<F> = unknown extends F ? any : [Edge<F>] extends [never] ? F | Native<F>
    : NonNullable<F> extends readonly any[] ? Ref[] | { $add?: Ref[]; $remove?: Ref[]; $set?: Ref[] } : Ref | null;
  /** A bare value means $eq; siblings are joined by and. */
  type Filter<T> = { [K in keyof T]?: Condition<T[K]>` + orInherited + ` } & { ` +
		members(catalog.OperatorNames(catalog.InFilter), "", "") + ` };
  type Condition<F, V = Exclude<F, undefined>, N = NonNullable<F>> = unknown extends F ? ` + open + `
    : [Native<F>] extends [never] ? ([Edge<F>] extends [never] ? ([N] extends [boolean] ? V | Equal<V> : [N] extends [number] ? V | Order<V> : [N] extends [string] ? V | (` + ofDay + `string extends N ? Text<V> : Equal<V>)
      : ` + ofWide + `(N extends readonly (infer I)[] ? List<I> : Json) | null)
    : N extends readonly any[] ? ToMany<Edge<F>> : (Filter<Edge<F>> & { ` + members(catalog.OperatorNames(catalog.AtEdge), "", "") + ` }) | null)
    : V | Native<F> | Order<V | Native<F>>;
  interface Equal<V> { ` + members(catalog.ClassEqual.Operators(), "V", "readonly V[]") + ` }
  interface Order<V, N = NonNullable<V>> extends Equal<V> { ` + members(catalog.ClassOrder.Beyond(catalog.ClassEqual), "N", "readonly N[]") + ` }
  interface Text<V> extends Order<V> { ` + members(catalog.ClassText.Beyond(catalog.ClassOrder), "V", "readonly V[]") + ` }
  interface Json { ` + members(catalog.ClassJSON.Operators(), "null", "null[]") + ` }
  interface List<I> extends Json { ` + members(catalog.ClassList.Beyond(catalog.ClassJSON), "I & Scalar", "readonly (I & Scalar)[]") + ` }
  interface ToMany<T> { ` + members(catalog.EdgeOperators(), "", "") + ` }
` + paths(has) + `  type Scalar = string | number | boolean;
  type Related<T> = { [K in keyof T]-?: [Edge<T[K]>] extends [never] ? never : K }[keyof T] & string;
  interface ToOneQuery<T> { filter?: Filter<T>; fields?: Fields; with?: With<T> }
  interface ToManyQuery<T> extends ToOneQuery<T> { limit?: number; sort?: Sort }
  type Fields = string | readonly string[];
  type Sort = string | SortBy | readonly (string | SortBy)[];
  interface SortBy { field: string; nulls?: "first" | "last" }
` + "  type Steps<R extends string> = R | `${R},${string}` | `${R}.${string}`;" + `
  type With<T, R extends string = [Related<T>] extends [never] ? never : Related<T> | "all", W extends string = Steps<R>, E extends string = Exclude<R, "all">> = [R] extends [never] ? never
    : ` + "`${W}` | readonly `${W}`[]" + ` | { [K in E]?: true` + orInherited + `
      | (K extends keyof T ? NonNullable<T[K]> extends readonly any[] ? ToManyQuery<Edge<T[K]>> : ToOneQuery<Edge<T[K]>> : never) };
` + readTypes
}

// readTypes are the types of what is read with the options fields and with.
const readTypes = "  type Named<N> = N extends `${infer A},${infer B}` ? A | Named<B> : N;\n" +
	"  type Head<N> = N extends `${infer A}.${string}` ? A : never;\n" +
	"  type Tail<N, K> = N extends `${K & string}.${infer B}` ? B : never;\n" +
	`  /** What is read by names: fields F, or all; relationships W, or E. */
  type Read<T, F, W, E = never> = [F | W | E] extends [never] ? T : Chosen<T, Named<F>, Named<[W] extends [never] ? E : W>>;
  type Chosen<T, F, W> = ([F] extends [never] ? T : Partial<T> & Pick<T, keyof T & ("id" | (string extends F ? never : F))>)
    & { [K in Related<T> & ("all" extends W ? string : W | Head<F | W>)]-?: NonNullable<T[K]> extends readonly any[] ? Read<Edge<T[K]>, Tail<F, K>, Tail<W, K>>[] : Read<Edge<T[K]>, Tail<F, K>, Tail<W, K>> | Extract<T[K], null> };
`

// compactTypes replace filterTypes where nothing is type-checked: in a description.
var compactTypes = `
  type Id = string | number;
  interface Page<T> { items: T[]; page: number; pageSize: number; totalCount?: number; nextCursor?: string | null; truncated: boolean }
  /** Lazy; also map, filter, take, drop, reduce, find, some, every, toArray. */
  type Items<T> = IterableIterator<T> & { [method: string]: any };
  /** Each field may be absent. Relationships are written by id; a list replaces, {$add, $remove} change it. */
  type Input<T> = { [K in keyof T]?: any };
  /** {field: value} or {field: {` + spaced(catalog.ClassOrder.Operators()) + `}}; texts ` + spaced(catalog.ClassText.Beyond(catalog.ClassOrder)) +
	`; lists ` + spaced(catalog.ClassList.Beyond(catalog.ClassJSON)) + `; JSON ` + spaced(catalog.ClassJSON.Beyond(catalog.ClassWhole)) +
	`; ` + spaced(catalog.OperatorNames(catalog.InFilter)) + `; to-many ` + spaced(catalog.EdgeOperators()) + `. */
  type Filter<T> = { [K in keyof T]?: any } & { [operator: string]: any };
  type Fields = string | readonly string[];
  type Sort = string | SortBy | readonly (string | SortBy)[];
  interface SortBy { field: string; nulls?: "first" | "last" }
  /** "a,b.c", or {edge: {limit, sort, filter, fields, with}}. */
  type With<T, R extends string> = R | string | readonly string[] | { [K in R]?: any };
`

func spaced(names []string) string { return strings.Join(names, " ") }

// paths is the type of conditions on paths into JSON: "a.b[0]".
func paths(has func(operator string) bool) string {
	if !has("$path") {
		return ""
	}
	inside := operands{"Scalar", "Scalar[]"}.members(catalog.ClassPath.Beyond(catalog.ClassText), func(string) bool { return true })
	return "  /** Paths such as \"a.b[0]\", each with a condition. */\n" +
		"  interface Paths { [path: string]: Scalar | null | (Text<any> & { " + inside + " }) }\n"
}

// aggregateTypes are the types of the options of an aggregate.
const aggregateTypes = `  /** The fields of an entity, without its relationships. */
  type Plain<T> = { [K in keyof T]-?: NonNullable<T[K]> extends string ? K : NonNullable<T[K]> extends object ? never : K }[keyof T] & string;
  type Names<F extends string> = F | ` + "`${F},${string}`" + ` | readonly F[];
  interface Bucket<F> { field: F; by?: "day" | "week" | "month" | "year"; as?: string }
  type Groups<F extends string> = Names<F> | Bucket<F> | readonly (F | Bucket<F>)[];
`

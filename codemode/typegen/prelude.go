package typegen

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

// filters are the types that filters, pages and ` + "`with`" + ` are made of.
const filters = `
  type Id = string | number;
  interface Page<T> { items: T[]; page: number; pageSize: number; totalCount?: number; nextCursor?: string | null; truncated: boolean }
  /** A bare value means $eq; siblings are joined by and. */
  type Filter<T> = { [K in keyof T]?: (unknown extends T[K] ? any : Condition<NonNullable<T[K]>>) | null } & { $and?: Filter<T>[]; $or?: Filter<T>[]; $nor?: Filter<T>[]; $not?: Filter<T>; $search?: string };
  type Condition<V> = [V] extends [string | number | boolean] ? V | Operators<V>
    : [V] extends [readonly (infer I)[]] ? (unknown extends I ? any : [I] extends [string | number | boolean] ? ListOperators<I> : ToMany<I>)
    : Filter<V>;
  interface Operators<V> { $eq?: V | null; $ne?: V | null; $in?: V[]; $nin?: V[]; $lt?: V; $lte?: V; $gt?: V; $gte?: V; $between?: [V, V]; $contains?: string; $icontains?: string; $startsWith?: string; $endsWith?: string; $null?: boolean }
  interface ListOperators<I> { $has?: I; $all?: I[]; $size?: number; $null?: boolean }
  interface ToMany<T> { $some?: Filter<T>; $every?: Filter<T>; $none?: Filter<T>; $exists?: boolean }
  type Target<E> = NonNullable<E> extends readonly (infer I)[] ? I : NonNullable<E>;
  interface EdgeQuery<T> { limit?: number; sort?: string | string[]; filter?: Filter<T>; fields?: string[]; with?: string | string[] | { [edge: string]: any } }
  type With<T, R extends string> = [R] extends [never] ? never
    : R | ` + "`${R},${string}` | `${R}.${string}` | readonly (R | `${R}.${string}`)[]" + ` | { [K in Exclude<R, "all">]?: true | (K extends keyof T ? EdgeQuery<Target<T[K]>> : never) };
`

// integrity of what follows this line: sha256-9UyXlPR00QZxFSdnKSRyQa6pHhZJ7M/hrzh8gE9iKOA=
// What a script can call through SDK. All calls are synchronous; a failure throws a KoanError.

declare class KoanError extends Error {
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
  randomUUID(): `${string}-${string}-${string}-${string}-${string}`;
  getRandomValues<T>(array: T): T;
}
declare var crypto: Crypto;

declare namespace SDK {
  /** The run's args, as the caller gave them. */
  const args: any;
  const run: { readonly id: string; readonly set: string; readonly dryRun: boolean };
  namespace Out {
    /** What the user should see: any JSON value. The last one counts. */
    function answer(value: any): void;
    /** A part of the result, sent while the script runs. */
    function emit(value: any): void;
    function info(message: any): void;
    function warn(message: any): void;
    function error(message: any): void;
    function progress(done: number, total?: number, message?: string): void;
    /** Puts a file into the result. */
    function file(id: string | { id: string }): any;
  }

  type Id = string | number;
  /** A string; in inputs and filters also a Date. */
  type Time = string & { readonly "RFC 3339"?: never };
  /** A day of the calendar: a string, never a Date. */
  type Day = string & { readonly "YYYY-MM-DD"?: never };
  /** A string; in inputs and filters also a number. */
  type Numeric = string & { readonly "or a number"?: never };
  /** What may be written instead of a string. */
  type Native<F> = [NonNullable<F>] extends [string] ? "RFC 3339" extends keyof NonNullable<F> ? Date : "or a number" extends keyof NonNullable<F> ? number : never : never;
  interface Page<T> { items: T[]; page: number; pageSize: number; totalCount?: number; nextCursor?: string | null; truncated: boolean }
  /** Lazy: pages are read as they are needed. */
  interface Items<T> extends IterableIterator<T> { map<U>(f: (item: T, i: number) => U): Items<U>; filter(f: (item: T, i: number) => unknown): Items<T>; take(n: number): Items<T>; drop(n: number): Items<T>; flatMap<U>(f: (item: T, i: number) => Iterable<U>): Items<U>; reduce<U>(f: (sum: U, item: T, i: number) => U, start: U): U; forEach(f: (item: T, i: number) => void): void; some(f: (item: T, i: number) => unknown): boolean; every(f: (item: T, i: number) => unknown): boolean; find(f: (item: T, i: number) => unknown): T | undefined; toArray(): T[] }
  type Target<F> = NonNullable<F> extends readonly (infer I)[] ? I : NonNullable<F>;
  /** The entity that a relationship leads to; never for a field. */
  type Edge<F> = unknown extends F ? never : string extends keyof Target<F> ? never : "id" extends keyof Target<F> ? Target<F> : never;
  type Ref = Id | { id?: Id };
  /** What is written: each field may be absent. Relationships are written by id; a list replaces. */
  type Input<T> = { [K in keyof T]?: Written<T[K]> };
  type Written<F> = unknown extends F ? any : [Edge<F>] extends [never] ? F | Native<F>
    : NonNullable<F> extends readonly any[] ? Ref[] | { $add?: Ref[]; $remove?: Ref[]; $set?: Ref[] } : Ref | null;
  /** A bare value means $eq; siblings are joined by and. */
  type Filter<T> = { [K in keyof T]?: Condition<T[K]> } & { $and?: Filter<T>[]; $or?: Filter<T>[]; $nor?: Filter<T>[]; $not?: Filter<T>; $search?: string };
  type Condition<F, V = Exclude<F, undefined>, N = NonNullable<F>> = unknown extends F ? List<any> | null
    : [Native<F>] extends [never] ? ([Edge<F>] extends [never] ? ([N] extends [boolean] ? V | Equal<V> : [N] extends [number] ? V | Order<V> : [N] extends [string] ? V | ("YYYY-MM-DD" extends keyof N ? Order<V> : string extends N ? Text<V> : Equal<V>)
      : (N extends readonly (infer I)[] ? List<I> : Json) | null)
    : N extends readonly any[] ? ToMany<Edge<F>> : (Filter<Edge<F>> & { $exists?: boolean }) | null)
    : V | Native<F> | Order<V | Native<F>>;
  interface Equal<V> { $eq?: V; $ne?: V; $in?: readonly V[]; $nin?: readonly V[]; $null?: boolean }
  interface Order<V, N = NonNullable<V>> extends Equal<V> { $lt?: N; $lte?: N; $gt?: N; $gte?: N; $between?: readonly [N, N] }
  interface Text<V> extends Order<V> { $ieq?: string; $iin?: readonly string[]; $contains?: string; $icontains?: string; $startsWith?: string; $endsWith?: string }
  interface Json { $eq?: null; $ne?: null; $null?: boolean; $path?: Paths }
  interface List<I> extends Json { $has?: I & Scalar; $all?: readonly (I & Scalar)[]; $size?: number }
  interface ToMany<T> { $some?: Filter<T>; $every?: Filter<T>; $none?: Filter<T>; $exists?: boolean }
  /** Paths such as "a.b[0]", each with a condition. */
  interface Paths { [path: string]: Scalar | null | (Text<any> & { $has?: Scalar; $all?: Scalar[]; $size?: number }) }
  type Scalar = string | number | boolean;
  type Related<T> = { [K in keyof T]-?: [Edge<T[K]>] extends [never] ? never : K }[keyof T] & string;
  interface ToOneQuery<T> { filter?: Filter<T>; fields?: Fields; with?: With<T> }
  interface ToManyQuery<T> extends ToOneQuery<T> { limit?: number; sort?: Sort }
  type Fields = string | readonly string[];
  type Sort = string | SortBy | readonly (string | SortBy)[];
  interface SortBy { field: string; nulls?: "first" | "last" }
  type Steps<R extends string> = R | `${R},${string}` | `${R}.${string}`;
  type With<T, R extends string = [Related<T>] extends [never] ? never : Related<T> | "all", W extends string = Steps<R>, E extends string = Exclude<R, "all">> = [R] extends [never] ? never
    : `${W}` | readonly `${W}`[] | { [K in E]?: true
      | (K extends keyof T ? NonNullable<T[K]> extends readonly any[] ? ToManyQuery<Edge<T[K]>> : ToOneQuery<Edge<T[K]>> : never) };
  type Named<N> = N extends `${infer A},${infer B}` ? A | Named<B> : N;
  type Head<N> = N extends `${infer A}.${string}` ? A : never;
  type Tail<N, K> = N extends `${K & string}.${infer B}` ? B : never;
  /** What is read by names: fields F, or all; relationships W, or E. */
  type Read<T, F, W, E = never> = [F | W | E] extends [never] ? T : Chosen<T, Named<F>, Named<[W] extends [never] ? E : W>>;
  type Chosen<T, F, W> = ([F] extends [never] ? T : Partial<T> & Pick<T, keyof T & ("id" | (string extends F ? never : F))>)
    & { [K in Related<T> & ("all" extends W ? string : W | Head<F | W>)]-?: NonNullable<T[K]> extends readonly any[] ? Read<Edge<T[K]>, Tail<F, K>, Tail<W, K>>[] : Read<Edge<T[K]>, Tail<F, K>, Tail<W, K>> | Extract<T[K], null> };
  /** The fields of an entity, without its relationships. */
  type Plain<T> = { [K in keyof T]-?: NonNullable<T[K]> extends string ? K : NonNullable<T[K]> extends object ? never : K }[keyof T] & string;
  type Names<F extends string> = F | `${F},${string}` | readonly F[];
  interface Bucket<F> { field: F; by?: "day" | "week" | "month" | "year"; as?: string }
  type Groups<F extends string> = Names<F> | Bucket<F> | readonly (F | Bucket<F>)[];
  interface Query<T, R extends string, S extends string, F extends string = string, W extends string = Steps<R>, E extends string = Exclude<R, "all">> { filter?: Filter<T>; q?: string; sort?: Sort; page?: number; pageSize?: number; cursor?: string | null; count?: boolean; fields?: F | readonly F[]; with?: With<T, R, W, E>; set?: S }
  interface Entity<T, R extends string, S extends string, I = Input<T>> extends ReadOnlyEntity<T, R, S, I> {
    /** columns: the groups, count, sumField ... */ aggregate(query?: { filter?: Filter<T>; groupBy?: Groups<Plain<T> | Exclude<R, "all">>; having?: { [column: string]: any }; sum?: Names<Plain<T>>; avg?: Names<Plain<T>>; min?: Names<Plain<T>>; max?: Names<Plain<T>>; sort?: Sort; limit?: number; count?: boolean | { all?: boolean; distinct?: Names<Plain<T> | Exclude<R, "all">> }; set?: S } | S): { [column: string]: any }[];
    /** a model with defaults, not stored: create or upsert stores it */ "new"(options?: { set?: S } | S): I;
    /** absent fields keep their values */ upsert(model: I, options?: { replace?: boolean; ifVersion?: number; set?: S } | S): T;
    upsertMany(models: I[], options?: { set?: S } | S): T[];
    patch(id: Id, changes: I, options?: { ifVersion?: number; set?: S } | S): T;
    updateByQuery(filter: Filter<T>, changes: I, options?: { maxAffected?: number; all?: boolean; set?: S } | S): number;
    deleteByQuery(filter: Filter<T>, options?: { maxAffected?: number; all?: boolean; set?: S } | S): number;
    /** how many were deleted */ delete(id: Id, options?: { ifVersion?: number; set?: S } | S): number;
    deleteMany(ids: Id[], options?: { set?: S } | S): number;
  }
  interface ReadOnlyEntity<T, R extends string, S extends string, I = Input<T>> {
    collection<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(query?: Query<T, R, S, F, W, E> | S): Page<Read<T, F, W, E>>;
    /** pageSize 50, at most 200 */ firstPage<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(pageSize?: number, query?: Query<T, R, S, F, W, E> | S): Page<Read<T, F, W, E>>;
    /** page from 1 */ page<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(page: number, pageSize?: number, query?: Query<T, R, S, F, W, E> | S): Page<Read<T, F, W, E>>;
    /** all items, page by page */ each<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(query?: Query<T, R, S, F, W, E> | S): Items<Read<T, F, W, E>>;
    /** throws beyond 10,000 rows */ all<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(query?: Query<T, R, S, F, W, E> | S): Read<T, F, W, E>[];
    /** throws not_found */ getById<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(id: Id, options?: { fields?: F | readonly F[]; with?: With<T, R, W, E>; set?: S } | S): Read<T, F, W, E>;
    findById<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(id: Id, options?: { fields?: F | readonly F[]; with?: With<T, R, W, E>; set?: S } | S): Read<T, F, W, E> | null;
    count(filter?: Filter<T>, options?: { set?: S } | S): number;
  }

  namespace Entities {
    interface Person {
      id: string;
      name: string;
      todos?: Todo[];
    }
    type PersonRelationship = "todos" | "all";
    type PersonInput = SDK.Input<Person>;
    const Person: SDK.Entity<Person, PersonRelationship, "default">;
    interface Product {
      id: string;
      gtin: string;
      /** decimal */
      "price-class": SDK.Numeric;
    }
    const Product: SDK.ReadOnlyEntity<Product, never, "default">;
    /** A thing somebody has to do. *\/ hostile */
    interface Todo {
      id: string;
      /** What is to be done (required, at most 200 characters). */
      title: string;
      /** default false */
      completed: boolean;
      priority: "low" | "high \"x\"" | null;
      /** min 0.5, max 8 */
      effort: number;
      /** RFC 3339 UTC */
      dueAt: SDK.Time | null;
      /** YYYY-MM-DD */
      startsOn: SDK.Day | null;
      tags: string[];
      meta: unknown;
      assigneeId: string | null;
      assignee?: Person | null;
      steps?: Todo[];
    }
    type TodoSet = "default" | `tenant-${string}`;
    type TodoRelationship = "assignee" | "steps" | "all";
    interface TodoInput extends SDK.Input<Todo> {
      pin?: string;
    }
    const Todo: SDK.Entity<Todo, TodoRelationship, TodoSet, TodoInput>;
  }

  namespace Out2 {
    /** An integer: beyond 2^53 a BigInt, or its digits. */
    type Integer = number | bigint | string;
    type DeleteInput = { ""?: string; "1st"?: unknown; /** *\/ } evil(); /* */ __proto__?: Integer | null; both?: { a?: string } & ("x" | null); broken?: unknown /** a reference to nothing */; class: -1.5; deep?: DeleteInputPair; empty?: never; far?: unknown /** a reference to another document */; "in valid": string | null; list?: ("a" | "b")[]; loop?: DeleteInputA; map?: { [key: string]: Integer }; never?: never; nullable?: string | null; odd?: unknown; old?: [string]; pair?: [string, number, ...boolean[]]; self?: DeleteInput; tree: DeleteInputNode; values?: "*/" | "`${1}" | 1 | true | { a: [1] } | null; [key: `x${string}`]: string };
    type DeleteInputPair = [string, number, ...boolean[]];
    type DeleteInputA = DeleteInputB;
    type DeleteInputNode = { children?: DeleteInputNode[] };
    type DeleteInputB = unknown /** circular */;
    type DeleteInputC = unknown /** circular */;
    type DeleteOutput = { ""?: string; "1st"?: unknown; /** *\/ } evil(); /* */ __proto__?: number | null; both?: { a?: string } & ("x" | null); broken?: unknown /** a reference to nothing */; class: -1.5; deep?: DeleteOutputPair; empty?: never; far?: unknown /** a reference to another document */; "in valid": string | null; list?: ("a" | "b")[]; loop?: DeleteOutputA; map?: { [key: string]: number }; never?: never; nullable?: string | null; odd?: unknown; old?: [string]; pair?: [string, number, ...boolean[]]; self?: DeleteOutput; tree: DeleteOutputNode; values?: "*/" | "`${1}" | 1 | true | { a: [1] } | null; [key: `x${string}`]: string };
    type DeleteOutputPair = [string, number, ...boolean[]];
    type DeleteOutputA = DeleteOutputB;
    type DeleteOutputNode = { children?: DeleteOutputNode[] };
    type DeleteOutputB = unknown /** circular */;
    type DeleteOutputC = unknown /** circular */;
  }
  const Out2: {
    /** Does delete. */
    delete(input: Out2.DeleteInput): Out2.DeleteOutput;
  };

  namespace Vision {
    type DetectInput = { mode?: "fast" | "thorough"; /** Below plugins.vision.root. */ path?: string };
    type DetectOutput = { detections: DetectOutputDetection[] };
    type DetectOutputDetection = { box: DetectOutputBox; /** (minimum 0, maximum 1) */ confidence?: number; value: string };
    type DetectOutputBox = { x: number; y: number };
  }
  const Vision: {
    /** Does detect. */
    detect(input?: Vision.DetectInput): Vision.DetectOutput;
  };
}

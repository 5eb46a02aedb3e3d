// integrity of what follows this line: sha256-+PFgUqQCuE0ojlIWrNxL4TuvRo29XB46rWa3sh4deJo=
// What a script can call through SDK. All calls are synchronous; a failure throws a KoanError.

declare namespace SDK {

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
  type Edge<F> = unknown extends F ? F : string extends keyof Target<F> ? never : "id" extends keyof Target<F> ? Target<F> : never;
  type Ref = Id | { id?: Id };
  /** What is written: each field may be absent. Relationships are written by id; a list replaces. */
  type Input<T> = { [K in keyof T]?: Written<T[K]> };
  type Written<F> = unknown extends F ? any : [Edge<F>] extends [never] ? F | Native<F>
    : NonNullable<F> extends readonly any[] ? Ref[] | { $add?: Ref[]; $remove?: Ref[]; $set?: Ref[] } : Ref | null;
  /** A bare value means $eq; siblings are joined by and. */
  type Filter<T> = { [K in keyof T]?: Condition<T[K]> } & { $and?: Filter<T>[]; $or?: Filter<T>[]; $nor?: Filter<T>[]; $not?: Filter<T>; $search?: string };
  type Condition<F, V = Exclude<F, undefined>, N = NonNullable<F>> = unknown extends F ? any
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
  interface Entity<T, R extends string, S extends string, I = Input<T>> {
    collection<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(query?: Query<T, R, S, F, W, E> | S): Page<Read<T, F, W, E>>;
    /** pageSize 50, at most 200 */ firstPage<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(pageSize?: number, query?: Query<T, R, S, F, W, E> | S): Page<Read<T, F, W, E>>;
    /** page from 1 */ page<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(page: number, pageSize?: number, query?: Query<T, R, S, F, W, E> | S): Page<Read<T, F, W, E>>;
    /** all items, page by page */ each<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(query?: Query<T, R, S, F, W, E> | S): Items<Read<T, F, W, E>>;
    /** throws beyond 10,000 rows */ all<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(query?: Query<T, R, S, F, W, E> | S): Read<T, F, W, E>[];
    /** throws not_found */ getById<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(id: Id, options?: { fields?: F | readonly F[]; with?: With<T, R, W, E>; set?: S } | S): Read<T, F, W, E>;
    findById<F extends string = never, W extends Steps<R> = never, E extends Exclude<R, "all"> = never>(id: Id, options?: { fields?: F | readonly F[]; with?: With<T, R, W, E>; set?: S } | S): Read<T, F, W, E> | null;
    count(filter?: Filter<T>, options?: { set?: S } | S): number;
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

  namespace Entities {
    interface Person {
      id: string;
      name: string;
      todos?: any;
    }
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
}

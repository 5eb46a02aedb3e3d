// What a script can call through SDK. All calls are synchronous; a failure throws a KoanError.

declare namespace SDK {

  type Id = string | number;
  interface Page<T> { items: T[]; page: number; pageSize: number; totalCount?: number; nextCursor?: string | null; truncated: boolean }
  type Ref = Id | { id?: Id };
  /** Relationships are written by id; a list replaces. */
  type Input<T> = { [K in keyof T]: unknown extends T[K] ? any : NonNullable<T[K]> extends string | number | boolean ? T[K]
    : NonNullable<T[K]> extends readonly (infer I)[] ? I extends { id?: string } ? Ref[] | { $add?: Ref[]; $remove?: Ref[]; $set?: Ref[] } : T[K]
    : NonNullable<T[K]> extends { id?: string } ? Ref | null : T[K] };
  /** A bare value means $eq; siblings are joined by and. */
  type Filter<T> = { [K in keyof T]?: (unknown extends T[K] ? List<any> : Condition<NonNullable<T[K]>>) | null } & { $and?: Filter<T>[]; $or?: Filter<T>[]; $nor?: Filter<T>[]; $not?: Filter<T>; $search?: string };
  type Condition<V> = [V] extends [boolean] ? V | Equal<V> : [V] extends [number] ? V | Order<V>
    : [V] extends [string] ? V | (string extends V ? Text<V> : Equal<V>)
    : [V] extends [readonly (infer I)[]] ? (unknown extends I ? List<any> : [I] extends [string | number | boolean] ? List<I> : ToMany<I>)
    : string extends keyof V ? Json : Filter<V>;
  interface Equal<V> { $eq?: V | null; $ne?: V | null; $in?: (V | null)[]; $nin?: (V | null)[]; $null?: boolean }
  interface Order<V> extends Equal<V> { $lt?: V; $lte?: V; $gt?: V; $gte?: V; $between?: [V, V] }
  interface Text<V> extends Order<V> { $contains?: string; $icontains?: string; $startsWith?: string; $endsWith?: string }
  interface Json { $eq?: null; $ne?: null; $null?: boolean; $path?: Paths }
  interface List<I> extends Json { $has?: I; $all?: I[]; $size?: number }
  interface ToMany<T> { $some?: Filter<T>; $every?: Filter<T>; $none?: Filter<T>; $exists?: boolean }
  /** Paths such as "a.b[0]", each with a condition. */
  interface Paths { [path: string]: Scalar | null | (Text<any> & { $has?: Scalar; $all?: Scalar[]; $size?: number }) }
  type Scalar = string | number | boolean;
  type Target<E> = NonNullable<E> extends readonly (infer I)[] ? I : NonNullable<E>;
  interface EdgeQuery<T> { limit?: number; sort?: string | string[]; filter?: Filter<T>; fields?: string | string[]; with?: string | string[] | { [edge: string]: any } }
  type With<T, R extends string> = [R] extends [never] ? never
    : R | `${R},${string}` | `${R}.${string}` | readonly (R | `${R}.${string}`)[] | { [K in Exclude<R, "all">]?: true | (K extends keyof T ? EdgeQuery<Target<T[K]>> : never) };
  /** The fields of an entity, without its relationships. */
  type Plain<T> = { [K in keyof T]-?: NonNullable<T[K]> extends object ? never : K }[keyof T] & string;
  type Names<F extends string> = F | `${F},${string}` | readonly F[];
  interface Bucket<F> { field: F; by?: "day" | "week" | "month" | "year"; as?: string }
  type Groups<F extends string> = Names<F> | Bucket<F> | readonly (F | Bucket<F>)[];
  interface Query<T, R extends string, S extends string> { filter?: Filter<T>; q?: string; sort?: string | string[]; page?: number; pageSize?: number; cursor?: string; count?: boolean; fields?: string | string[]; with?: With<T, R>; set?: S }
  interface Entity<T, R extends string, S extends string, I = T> {
    collection(query?: Query<T, R, S> | S): Page<T>;
    /** pageSize 50, at most 200 */ firstPage(pageSize?: number, query?: Query<T, R, S> | S): Page<T>;
    /** page from 1 */ page(page: number, pageSize?: number, query?: Query<T, R, S> | S): Page<T>;
    /** all items, page by page */ each(query?: Query<T, R, S> | S): Iterable<T>;
    /** at most 10,000, else it throws */ all(query?: Query<T, R, S> | S): T[];
    /** throws not_found */ getById(id: Id, options?: { fields?: string | string[]; with?: With<T, R>; set?: S } | S): T;
    findById(id: Id, options?: { fields?: string | string[]; with?: With<T, R>; set?: S } | S): T | null;
    count(filter?: Filter<T>, options?: { set?: S } | S): number;
    /** columns: the groups, count, sumField ... */ aggregate(query?: { filter?: Filter<T>; groupBy?: Groups<Plain<T> | Exclude<R, "all">>; having?: { [column: string]: any }; sum?: Names<Plain<T>>; avg?: Names<Plain<T>>; min?: Names<Plain<T>>; max?: Names<Plain<T>>; sort?: string | string[]; limit?: number; count?: boolean | { all?: boolean; distinct?: Names<Plain<T> | Exclude<R, "all">> }; set?: S } | S): { [column: string]: any }[];
    /** a model with defaults, not stored */ "new"(options?: { set?: S } | S): T;
    /** absent fields keep their values */ upsert(model: Input<I>, options?: { replace?: boolean; ifVersion?: number; set?: S } | S): T;
    upsertMany(models: Input<I>[], options?: { set?: S } | S): T[];
    patch(id: Id, changes: Input<I>, options?: { ifVersion?: number; set?: S } | S): T;
    updateByQuery(filter: Filter<T>, changes: Input<I>, options?: { maxAffected?: number; set?: S } | S): number;
    deleteByQuery(filter: Filter<T>, options?: { maxAffected?: number; set?: S } | S): number;
    /** how many were deleted */ delete(id: Id, options?: { ifVersion?: number; set?: S } | S): number;
    deleteMany(ids: Id[], options?: { set?: S } | S): number;
  }

  namespace Entities {
    interface Person {
      id?: string;
      name?: string;
    }
    /** A thing somebody has to do. *\/ hostile */
    interface Todo {
      id?: string;
      /** What is to be done (required, at most 200 characters). */
      title?: string;
      /** default false */
      completed?: boolean;
      priority?: "low" | "high \"x\"" | null;
      /** min 0.5, max 8 */
      effort?: number;
      /** RFC 3339 UTC */
      dueAt?: string | null;
      tags?: string[];
      meta?: unknown;
      assigneeId?: string | null;
      assignee?: Person | null;
      steps?: Todo[];
    }
    type TodoSet = "default" | `tenant-${string}`;
    type TodoRelationship = "assignee" | "steps" | "all";
    interface TodoInput extends Todo {
      pin?: string;
    }
    const Todo: SDK.Entity<Todo, TodoRelationship, TodoSet, TodoInput>;
  }
}

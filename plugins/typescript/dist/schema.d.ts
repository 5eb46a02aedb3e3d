import { Fault } from "./fault.js";
/** A JSON Schema. */
export type JsonSchema = {
    readonly [keyword: string]: unknown;
};
/** A value that is out of a schema: where, as a JSON Pointer, and why. */
export interface Problem {
    path: string;
    message: string;
}
declare const type: unique symbol;
declare const optional: unique symbol;
/** A schema whose values have a type in TypeScript. */
export declare class Shape<T, O extends boolean = false> {
    readonly schema: JsonSchema;
    /** Makes the value that a function gets of one that fits. */
    readonly read: (value: any) => unknown;
    readonly isOptional: O;
    readonly fallback?: {
        readonly value: T;
    } | undefined;
    readonly [type]: T;
    readonly [optional]: O;
    constructor(schema: JsonSchema, 
    /** Makes the value that a function gets of one that fits. */
    read?: (value: any) => unknown, isOptional?: O, fallback?: {
        readonly value: T;
    } | undefined);
    /** It may be left out. */
    optional(): Shape<T | undefined, true>;
    /** It may be left out, and is this then. */
    default(value: T): Shape<T, true>;
    /** It may be null. */
    nullable(): Shape<T | null>;
    /** What it is, for people and models. */
    describe(description: string): Shape<T, O>;
}
/** The type of a shape's values. */
export type Infer<S> = S extends Shape<infer T, boolean> ? T : never;
type Members = Record<string, Shape<any, boolean>>;
type Flat<T> = {
    [K in keyof T]: T[K];
};
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
/** Builders of schemas. */
export declare const s: {
    string: (options?: Texts & {
        minLength?: number;
        maxLength?: number;
        pattern?: string;
        format?: string;
    }) => Shape<string, false>;
    number: (options?: Texts & {
        minimum?: number;
        maximum?: number;
    }) => Shape<number, false>;
    /** A whole number that is safe as a number: at most 2^53 - 1. */
    integer: (options?: Texts & {
        minimum?: number;
        maximum?: number;
    }) => Shape<number, false>;
    /** A whole number of any size. */
    bigint: (options?: Texts & {
        minimum?: number;
    }) => Shape<bigint, false>;
    boolean: (options?: Texts) => Shape<boolean, false>;
    /** One of several values. */
    enum: <const V extends readonly (string | number | boolean)[]>(values: V, options?: Texts) => Shape<V[number], false>;
    array: <T>(item: Shape<T>, options?: Texts & {
        minItems?: number;
        maxItems?: number;
    }) => Shape<T[], false>;
    /** An object with these members and no others. */
    object: <M extends Members>(members: M, options?: Texts) => Shape<Flat<{ [K in keyof M as M[K] extends Shape<any, false> ? K : undefined extends Infer<M[K]> ? never : K]: Infer<M[K]>; } & { [K_1 in keyof M as M[K_1] extends Shape<any, false> ? never : undefined extends Infer<M[K_1]> ? K_1 : never]?: Infer<M[K_1]>; }>, false>;
    /** An object with any keys. */
    record: <T>(item: Shape<T>, options?: Texts) => Shape<Record<string, T>, false>;
    /** A value of one of several shapes: the first that fits. */
    union: <const S extends readonly Shape<any>[]>(shapes: S, options?: Texts) => Shape<Infer<S[number]>, false>;
    /** A file of the app's. */
    file: (options?: Texts) => Shape<FileHandle, false>;
    /** Any JSON. */
    any: (options?: Texts) => Shape<any, false>;
    /** A JSON Schema as it is. Whole numbers beyond 2^53 are bigint. */
    raw: <T = any>(schema: JsonSchema) => Shape<T, false>;
};
/**
 * Returns what of a value is out of a schema, by the keywords that people write most. The app has checked inputs by all
 * keywords.
 */
export declare function problemsOf(schema: JsonSchema, value: unknown, root?: JsonSchema, path?: string): Problem[];
/** Makes the fault of an input that does not fit. */
export declare function unfit(problems: Problem[]): Fault;
export {};

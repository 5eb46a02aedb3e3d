import type { Call } from "./call.js";
import type { Metric } from "./metric.js";
import type { JsonSchema, Shape } from "./schema.js";
import type { Setting, SettingsOf } from "./settings.js";
import type { Manifest } from "./wire.js";
/** What a plugin says of itself. */
export interface PluginOptions<D extends Record<string, Setting>> {
    /** The name of the executable's file: lower-case kebab. */
    domain: string;
    /** The plugin's own. */
    version: string;
    /** One sentence. */
    description?: string;
    settings?: D;
    /** Codes of the plugin's own, in snake_case. */
    faultCodes?: readonly string[];
    /** Ids and patterns of the operations that it asks to call: "koan::Todo.patch". */
    needs?: readonly string[];
    /** It keeps files in Call.stateDir. */
    keepsState?: boolean;
    /** What its functions count or measure, at most 50. */
    metrics?: readonly Metric[];
    /** Is called once before the first call. What it throws ends the app's start: name the setting. */
    configure?: (settings: SettingsOf<D>) => void | Promise<void>;
    /** Is called at the plugin's end, when no call is served any more. It has about half a second. */
    closing?: () => void | Promise<void>;
}
type Schema = Shape<any> | JsonSchema;
type ValueOf<S> = S extends Shape<infer T, boolean> ? T : any;
/** What a plugin says of a function. */
export interface FunctionOptions<I extends Schema, O extends Schema> {
    /** One sentence for people and models. */
    summary: string;
    /** For people. */
    title?: string;
    /** An object: s.object(...), or a JSON Schema. Left out, the function takes {}. */
    input?: I;
    /** An object, too. Left out, the function returns nothing. */
    output?: O;
    /** It changes nothing, anywhere. */
    readOnly?: boolean;
    /** It may delete or overwrite. */
    destructive?: boolean;
    /** To repeat a call has no further effect. */
    idempotent?: boolean;
    /** It has effects beyond the system, which nothing rolls back. */
    outside?: boolean;
    /** An input that works. */
    example?: object;
    timeoutMs?: number;
    /** What a token has to have to call it, all of them. */
    scopes?: readonly string[];
}
/** A function, as the server calls it. */
export interface Declared {
    readonly name: string;
    readonly about: FunctionOptions<Schema, Schema>;
    readonly input: Shape<any>;
    readonly output: Shape<any>;
    run(input: any, call: Call): unknown;
}
/**
 * A plugin: make one, declare its functions, and serve it.
 *
 *     const plugin = new Plugin({ domain: "dice", version: "1.0.0" });
 *     plugin.function("roll", { summary: "Roll one die.", readOnly: true, output: s.object({ value: s.integer() }) },
 *       () => ({ value: 1 + Math.floor(6 * Math.random()) }));
 *     await plugin.serve();
 */
export declare class Plugin<const D extends Record<string, Setting> = Record<never, Setting>> {
    #private;
    readonly options: PluginOptions<D>;
    readonly functions: Map<string, Declared>;
    /** A folder that stays, once the plugin is configured. */
    stateDir: string | undefined;
    constructor(options: PluginOptions<D>);
    /** What the operator has configured. It is there once the plugin runs. */
    get settings(): SettingsOf<D>;
    /** Declares a function. Its name is lower-case kebab. */
    function<I extends Schema = Shape<Record<never, never>>, O extends Schema = Shape<void>>(name: string, about: FunctionOptions<I, O>, run: (input: ValueOf<I>, call: Call) => ValueOf<O> | Promise<ValueOf<O>>): this;
    /** Takes the settings of the app, and calls PluginOptions.configure. It throws what ends the app's start. */
    configure(given: Record<string, string>, stateDir?: string): Promise<void>;
    /** Calls a function with an input that is checked before. Its tests call it so, too (koan-plugin/testing). */
    call(name: string, input: unknown, call: Call): Promise<unknown>;
    /** Serves the plugin until the app stops it. It is the last statement of the program. */
    serve(): Promise<void>;
    /** What the app is told of the plugin. It throws what is wrong with the whole of it. */
    manifest(): Manifest;
}
export {};

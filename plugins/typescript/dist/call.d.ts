import type { Asking } from "./ask.js";
import { File, NewFile } from "./file.js";
import type { Logger } from "./log.js";
import type { Metric } from "./metric.js";
import type { FileHandle } from "./schema.js";
import type { CallEvent, CallRequest } from "./wire.js";
/** Who makes a call. Its rights have been checked against those that the function needs. */
export interface Caller {
    readonly subject: string;
    readonly scopes: readonly string[];
    /** Names and patterns. */
    readonly sets: readonly string[];
}
/** The call that a function serves. */
export declare class Call {
    #private;
    private readonly send;
    private readonly asking;
    /** Is aborted when nobody waits for the call any more: hand it to fetch and others. */
    readonly signal: AbortSignal;
    /** A folder that stays, where PluginOptions.keepsState asks for it. */
    readonly stateDir: string | undefined;
    private readonly metrics;
    /** Unique to this call. */
    readonly id: string;
    /** The same in every attempt of the run: an idempotency key for services outside. */
    readonly key: string;
    /** The run's default set. */
    readonly set: string;
    /** The caller's trace id. */
    readonly trace: string;
    /** The run will be rolled back: change nothing outside. */
    readonly dryRun: boolean;
    /** The person at the app's machine made the run, and not somebody whom a token names. */
    readonly local: boolean;
    readonly caller: Caller;
    readonly log: Logger;
    /** When the call's time is over, undefined without a limit. */
    readonly deadline: Date | undefined;
    constructor(request: CallRequest, send: (event: CallEvent) => void, asking: Asking, 
    /** Is aborted when nobody waits for the call any more: hand it to fetch and others. */
    signal: AbortSignal, 
    /** A folder that stays, where PluginOptions.keepsState asks for it. */
    stateDir: string | undefined, metrics?: readonly Metric[]);
    /** Tells the caller how far the call is. A total of 0 is unknown. */
    progress(done: number, total?: number, message?: string): void;
    /** Tells the caller what there is so far of what the function will return. */
    partial(value: unknown, done?: number, total?: number, message?: string): void;
    /**
     * Adds a value to a metric of PluginOptions.metrics, or gives a histogram its next one. A metric that is not
     * declared, and what is no value of it, are logged and not sent.
     */
    measure(metric: string, value?: number): void;
    /**
     * Times a part of the call's work, which is a span below that of the call where the app traces. Its name has at most
     * 64 bytes, and no data of callers. Of one call the app takes 100.
     *
     *     const rows = await call.span("fetch", () => fetch(url));
     */
    span<T>(name: string, work: () => T | Promise<T>): Promise<T>;
    /**
     * Calls an operation of the app ("koan::Todo.patch") with the caller's rights, in the same run: it takes
     * PluginOptions.needs and the operator's grant. It throws the operation's Fault.
     */
    invoke<T = any>(operation: string, input?: object): Promise<T>;
    /** Opens a file that the caller has passed. */
    file(file: FileHandle | string): Promise<File>;
    /**
     * Begins a file for the caller:
     *
     *     const file = await call.createFile("all.csv", "text/csv");
     *     await pipeline(rows, file);
     *     return { file: file.handle };
     */
    createFile(name: string, mediaType?: string): Promise<NewFile>;
}

/**
 * An app in the test's own process, for the tests of a plugin's functions.
 *
 *     const host = new Host({ operations: { "koan::Todo.get": ({ id }) => ({ id, title: "milk" }) } });
 *     assert.deepEqual(await host.run(plugin, "roll", { sides: 6 }), { value: 4 });
 */
import { Call } from "./call.js";
import type { Metric } from "./metric.js";
import type { Plugin } from "./plugin.js";
import type { FileHandle } from "./schema.js";
import type { CallRequest } from "./wire.js";
/** A file of the host's. */
export interface StoredFile {
    name: string;
    mediaType: string;
    data: Buffer;
    closed: boolean;
}
/** Answers what functions ask, from memory. */
export declare class Host {
    #private;
    /** Functions of an input, by the operations' ids; one that throws a Fault refuses. */
    readonly operations: Record<string, (input: any) => unknown>;
    /** The files that there are, by id. */
    readonly files: Map<string, StoredFile>;
    /** What functions have reported. */
    readonly progress: {
        done: number;
        total: number;
        message: string;
        partial?: unknown;
    }[];
    /** What functions have measured. */
    readonly measured: {
        metric: string;
        value: number;
    }[];
    /** The parts of calls that have ended. */
    readonly spans: {
        name: string;
        failed: boolean;
    }[];
    constructor(options?: {
        operations?: Record<string, (input: any) => unknown>;
    });
    /** Stores a file, and returns the handle that a caller would pass. */
    addFile(name: string, data: string | Uint8Array, mediaType?: string): FileHandle;
    /** Ends the calls: nobody waits for them any more. */
    cancel(): void;
    /** Calls a function as an app does, with an input of JSON, and returns its output as JSON. It throws what the function throws. */
    run(plugin: Plugin<any>, name: string, input?: object, request?: Partial<CallRequest>): Promise<any>;
    /** A call to hand to a function. */
    call(request?: Partial<CallRequest>, stateDir?: string, metrics?: readonly Metric[]): Call;
}

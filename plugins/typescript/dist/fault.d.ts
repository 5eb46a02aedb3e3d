/** The codes of the app's that a plugin may end a call in. */
export declare const codes: readonly ["invalid_payload", "not_found", "conflict", "read_only", "unknown_set", "forbidden", "unauthorized", "rate_limited", "service_unavailable", "upstream_error", "execution_error", "call_too_large", "result_too_large", "capability_unsupported", "set_busy", "in_progress", "outcome_unknown", "dry_run_blocked"];
/** A code of the app's; a plugin's own are strings beside these. */
export type Code = (typeof codes)[number];
/** Whether the same call may succeed later ("safe"), another one may ("fix"), or none. */
export type Retry = "safe" | "fix" | "never";
/** What of a fault may be left out. */
export interface FaultOptions {
    /** What to do about it. */
    hint?: string;
    /** JSON Pointer into the input. */
    path?: string;
    /** Any JSON. */
    details?: unknown;
    retry?: Retry;
}
/**
 * A failure that the caller is told: throw it from a function. The code is one of the app's, or one of the plugin's
 * own (PluginOptions.faultCodes), which callers get as execution_error with the code in details.code. Also what
 * Call.invoke and files throw where the app refuses.
 */
export declare class Fault extends Error {
    readonly code: Code | (string & {});
    readonly name = "Fault";
    readonly hint: string;
    readonly path: string;
    readonly details: unknown;
    readonly retry: Retry | undefined;
    /** It came from the app, with whichever code. */
    readonly isTheApps: boolean;
    constructor(code: Code | (string & {}), message: string, options?: FaultOptions, isTheApps?: boolean);
    /** The fault as the protocol has it. */
    toJSON(): Record<string, unknown>;
    /** The fault that the app has sent. */
    static from(value: unknown): Fault;
}

// Failures that a caller is told.
/** The codes of the app's that a plugin may end a call in. */
export const codes = [
    "invalid_payload",
    "not_found",
    "conflict",
    "read_only",
    "unknown_set",
    "forbidden",
    "unauthorized",
    "rate_limited",
    "service_unavailable",
    "upstream_error",
    "execution_error",
    "call_too_large",
    "result_too_large",
    "capability_unsupported",
    "set_busy",
    "in_progress",
    "outcome_unknown",
    "dry_run_blocked",
];
/**
 * A failure that the caller is told: throw it from a function. The code is one of the app's, or one of the plugin's
 * own (PluginOptions.faultCodes), which callers get as execution_error with the code in details.code. Also what
 * Call.invoke and files throw where the app refuses.
 */
export class Fault extends Error {
    code;
    name = "Fault";
    hint;
    path;
    details;
    retry;
    /** It came from the app, with whichever code. */
    isTheApps;
    constructor(code, message, options = {}, isTheApps = false) {
        super(message);
        this.code = code;
        this.hint = options.hint ?? "";
        this.path = options.path ?? "";
        this.details = options.details;
        this.retry = options.retry;
        this.isTheApps = isTheApps;
    }
    /** The fault as the protocol has it. */
    toJSON() {
        const out = { code: this.code, message: this.message };
        if (this.hint)
            out.hint = this.hint;
        if (this.path)
            out.path = this.path;
        if (this.details !== undefined)
            out.details = this.details;
        if (this.retry)
            out.retry = this.retry;
        return out;
    }
    /** The fault that the app has sent. */
    static from(value) {
        const v = (typeof value === "object" && value !== null ? value : {});
        const text = (key) => (typeof v[key] === "string" ? v[key] : "");
        const options = { hint: text("hint"), path: text("path"), details: v.details };
        if (v.retry === "safe" || v.retry === "fix" || v.retry === "never")
            options.retry = v.retry;
        return new Fault(text("code") || "internal", text("message"), options, true);
    }
}

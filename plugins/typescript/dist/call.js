// The call that a function serves.
import { File, handleOf, NewFile } from "./file.js";
import { parse, stringify } from "./json.js";
import { logger } from "./log.js";
import { takes } from "./metric.js";
/** The call that a function serves. */
export class Call {
    send;
    asking;
    signal;
    stateDir;
    metrics;
    /** Unique to this call. */
    id;
    /** The same in every attempt of the run: an idempotency key for services outside. */
    key;
    /** The run's default set. */
    set;
    /** The caller's trace id. */
    trace;
    /** The run will be rolled back: change nothing outside. */
    dryRun;
    /** The person at the app's machine made the run, and not somebody whom a token names. */
    local;
    caller;
    log;
    /** When the call's time is over, undefined without a limit. */
    deadline;
    #observed;
    constructor(request, send, asking, 
    /** Is aborted when nobody waits for the call any more: hand it to fetch and others. */
    signal, 
    /** A folder that stays, where PluginOptions.keepsState asks for it. */
    stateDir, metrics = []) {
        this.send = send;
        this.asking = asking;
        this.signal = signal;
        this.stateDir = stateDir;
        this.metrics = metrics;
        this.id = request.callId;
        this.key = request.key;
        this.set = request.set;
        this.trace = request.trace;
        this.dryRun = request.dryRun;
        this.local = request.local;
        this.caller = { subject: request.subject, scopes: request.scopes, sets: request.sets };
        this.log = logger({ function: request.function, call: request.callId });
        this.#observed = request.observed;
        this.deadline = request.deadlineUnixMs > 0 ? new Date(request.deadlineUnixMs) : undefined;
    }
    /** Tells the caller how far the call is. A total of 0 is unknown. */
    progress(done, total = 0, message = "") {
        this.send({ progress: { done, total, message } });
    }
    /** Tells the caller what there is so far of what the function will return. */
    partial(value, done = 0, total = 0, message = "") {
        this.send({ progress: { done, total, message, partial: Buffer.from(stringify(value)) } });
    }
    /**
     * Adds a value to a metric of PluginOptions.metrics, or gives a histogram its next one. A metric that is not
     * declared, and what is no value of it, are logged and not sent.
     */
    measure(metric, value = 1) {
        const declared = this.metrics.find(({ name }) => name === metric);
        if (!declared)
            this.log.error("a metric is not among PluginOptions.metrics", { metric });
        else if (!takes(declared, value))
            this.log.error("a metric has no such value", { metric, value: String(value) });
        else if (this.#observed)
            this.send({ measurement: { metric, value } });
    }
    /**
     * Times a part of the call's work, which is a span below that of the call where the app traces. Its name has at most
     * 64 bytes, and no data of callers. Of one call the app takes 100.
     *
     *     const rows = await call.span("fetch", () => fetch(url));
     */
    async span(name, work) {
        const start = BigInt(Date.now()) * 1000000n;
        const began = process.hrtime.bigint();
        let failed = true;
        try {
            const value = await work();
            failed = false;
            return value;
        }
        finally {
            const end = start + process.hrtime.bigint() - began;
            if (this.#observed && name)
                this.send({ span: { name, startUnixNano: String(start), endUnixNano: String(end), failed } });
        }
    }
    /**
     * Calls an operation of the app ("koan::Todo.patch") with the caller's rights, in the same run: it takes
     * PluginOptions.needs and the operator's grant. It throws the operation's Fault.
     */
    async invoke(operation, input = {}) {
        const answer = await this.asking.ask({ invoke: { operation, input: Buffer.from(stringify(input)) } });
        return parse(answer.output.toString());
    }
    /** Opens a file that the caller has passed. */
    async file(file) {
        const answer = await this.asking.ask({ openFile: { file: typeof file === "string" ? file : file.$file } });
        return new File(this.asking, handleOf(answer));
    }
    /**
     * Begins a file for the caller:
     *
     *     const file = await call.createFile("all.csv", "text/csv");
     *     await pipeline(rows, file);
     *     return { file: file.handle };
     */
    async createFile(name, mediaType = "") {
        const answer = await this.asking.ask({ createFile: { name, mediaType } });
        return new NewFile(this.asking, handleOf(answer).$file);
    }
}

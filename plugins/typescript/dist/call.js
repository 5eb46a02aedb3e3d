// The call that a function serves.
import { File, handleOf, NewFile } from "./file.js";
import { parse, stringify } from "./json.js";
import { logger } from "./log.js";
/** The call that a function serves. */
export class Call {
    send;
    asking;
    signal;
    stateDir;
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
    constructor(request, send, asking, 
    /** Is aborted when nobody waits for the call any more: hand it to fetch and others. */
    signal, 
    /** A folder that stays, where PluginOptions.keepsState asks for it. */
    stateDir) {
        this.send = send;
        this.asking = asking;
        this.signal = signal;
        this.stateDir = stateDir;
        this.id = request.callId;
        this.key = request.key;
        this.set = request.set;
        this.trace = request.trace;
        this.dryRun = request.dryRun;
        this.local = request.local;
        this.caller = { subject: request.subject, scopes: request.scopes, sets: request.sets };
        this.log = logger({ function: request.function, call: request.callId });
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

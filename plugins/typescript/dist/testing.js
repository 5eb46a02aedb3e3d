/**
 * An app in the test's own process, for the tests of a plugin's functions.
 *
 *     const host = new Host({ operations: { "koan::Todo.get": ({ id }) => ({ id, title: "milk" }) } });
 *     assert.deepEqual(await host.run(plugin, "roll", { sides: 6 }), { value: 4 });
 */
import { Asking } from "./ask.js";
import { Call } from "./call.js";
import { Fault } from "./fault.js";
import { parse, stringify } from "./json.js";
/** Answers what functions ask, from memory. */
export class Host {
    /** Functions of an input, by the operations' ids; one that throws a Fault refuses. */
    operations;
    /** The files that there are, by id. */
    files = new Map();
    /** What functions have reported. */
    progress = [];
    /** What functions have measured. */
    measured = [];
    /** The parts of calls that have ended. */
    spans = [];
    #controller = new AbortController();
    constructor(options = {}) {
        this.operations = options.operations ?? {};
    }
    /** Stores a file, and returns the handle that a caller would pass. */
    addFile(name, data, mediaType = "application/octet-stream") {
        const $file = `file-${this.files.size + 1}`;
        this.files.set($file, { name, mediaType, data: Buffer.from(data), closed: true });
        return { $file, name, type: mediaType, size: this.files.get($file).data.length };
    }
    /** Ends the calls: nobody waits for them any more. */
    cancel() {
        this.#controller.abort(new DOMException("the call was cancelled, or its time is over", "AbortError"));
    }
    /** Calls a function as an app does, with an input of JSON, and returns its output as JSON. It throws what the function throws. */
    async run(plugin, name, input = {}, request = {}) {
        return parse(stringify(await plugin.call(name, parse(stringify(input)), this.call(request, undefined, plugin.options.metrics))));
    }
    /** A call to hand to a function. */
    call(request = {}, stateDir, metrics) {
        const about = {
            function: "", input: Buffer.alloc(0), callId: "call-1", key: "key-1", deadlineUnixMs: 0, dryRun: false, set: "default", trace: "", parts: true, local: true, subject: "test", scopes: [], sets: [], maxOutputBytes: 0, observed: true, ...request,
        };
        const asking = new Asking((event) => this.#take(event, asking));
        return new Call(about, (event) => this.#take(event, asking), asking, this.#controller.signal, stateDir, metrics);
    }
    #take(event, asking) {
        if (event.progress) {
            const { partial, ...progress } = event.progress;
            this.progress.push(partial ? { ...progress, partial: parse(partial.toString()) } : progress);
        }
        if (event.measurement)
            this.measured.push(event.measurement);
        if (event.span)
            this.spans.push({ name: event.span.name, failed: event.span.failed });
        const question = event.question;
        if (question)
            void this.#answer(question).then((answer) => asking.take({ id: question.id, ...answer }));
    }
    async #answer(question) {
        try {
            if (!question.invoke)
                return this.#answerOfFiles(question);
            const operation = this.operations[question.invoke.operation];
            if (!operation)
                throw new Fault("forbidden", `${question.invoke.operation} is not granted`);
            return { result: "output", output: Buffer.from(stringify(await operation(parse(question.invoke.input.toString())))) };
        }
        catch (error) {
            const fault = error instanceof Fault ? error : new Fault("internal", String(error));
            return { result: "fault", fault: Buffer.from(stringify(fault)) };
        }
    }
    #answerOfFiles(q) {
        if (q.openFile)
            return this.#describe(q.openFile.file, true);
        if (q.readFile) {
            const { file, offset, length } = q.readFile;
            return { result: "data", data: this.#file(file, true).data.subarray(offset, offset + length) };
        }
        if (q.createFile) {
            const { $file } = this.addFile(q.createFile.name, "", q.createFile.mediaType);
            this.#file($file, true).closed = false;
            return this.#describe($file, false);
        }
        if (q.writeFile) {
            const file = this.#file(q.writeFile.file, false);
            file.data = Buffer.concat([file.data, q.writeFile.data]);
            return {};
        }
        const id = q.closeFile?.file ?? "";
        this.#file(id, false).closed = true;
        return this.#describe(id, true);
    }
    #file(id, closed) {
        const file = this.files.get(id);
        if (file?.closed !== closed)
            throw new Fault("not_found", `there is no file ${id}`);
        return file;
    }
    #describe(id, closed) {
        const { name, mediaType, data } = this.#file(id, closed);
        return { result: "file", file: { file: id, name, mediaType, size: data.length } };
    }
}

// Questions to the app during a call.
import { Fault } from "./fault.js";
import { parse } from "./json.js";
import { maxQuestions } from "./wire.js";
/** Sends the questions of one call, and hands each answer to the one who waits for it. */
export class Asking {
    send;
    #next = 1;
    #open = new Map();
    #queue = [];
    #ended;
    /** send sends an event of the call; it is undefined where the app takes no questions. */
    constructor(send) {
        this.send = send;
    }
    /** Asks, and waits for the answer. It throws the Fault with which the app refuses. */
    async ask(question) {
        const send = this.send;
        if (!send)
            throw new Fault("capability_unsupported", "this app takes no questions from plugins");
        while (this.#open.size >= maxQuestions && this.#ended === undefined)
            await new Promise((resolve) => this.#queue.push(resolve));
        if (this.#ended !== undefined)
            throw this.#ended;
        const id = this.#next++;
        return new Promise((resolve, reject) => {
            this.#open.set(id, { resolve, reject });
            send({ question: { id, ...question } });
        });
    }
    /** Takes an answer of the app's. */
    take(answer) {
        const waiting = this.#open.get(answer.id);
        if (!waiting)
            return;
        this.#open.delete(answer.id);
        if (answer.result === "fault") {
            try {
                waiting.reject(Fault.from(parse(answer.fault.toString())));
            }
            catch (error) {
                waiting.reject(error);
            }
        }
        else {
            waiting.resolve(answer);
        }
        this.#queue.shift()?.();
    }
    /** Ends the questions that are open: the call has ended. */
    end(reason) {
        if (this.#ended !== undefined)
            return;
        this.#ended = reason;
        for (const waiting of this.#open.values())
            waiting.reject(reason);
        this.#open.clear();
        for (const go of this.#queue.splice(0))
            go();
    }
}

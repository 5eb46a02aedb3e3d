import type { Answer, CallEvent, Question } from "./wire.js";
/** A question without its id. */
export type Asked = Omit<Question, "id">;
/** Sends the questions of one call, and hands each answer to the one who waits for it. */
export declare class Asking {
    #private;
    private readonly send;
    /** send sends an event of the call; it is undefined where the app takes no questions. */
    constructor(send: ((event: CallEvent) => void) | undefined);
    /** Asks, and waits for the answer. It throws the Fault with which the app refuses. */
    ask(question: Asked): Promise<Answer>;
    /** Takes an answer of the app's. */
    take(answer: Answer): void;
    /** Ends the questions that are open: the call has ended. */
    end(reason: unknown): void;
}

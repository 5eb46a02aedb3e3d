// Questions to the app during a call.

import { Fault } from "./fault.js";
import { parse } from "./json.js";
import type { Answer, CallEvent, Question } from "./wire.js";
import { maxQuestions } from "./wire.js";

/** A question without its id. */
export type Asked = Omit<Question, "id">;

interface Waiting {
  resolve(answer: Answer): void;
  reject(error: unknown): void;
}

/** Sends the questions of one call, and hands each answer to the one who waits for it. */
export class Asking {
  #next = 1;
  #open = new Map<number, Waiting>();
  #queue: (() => void)[] = [];
  #ended: unknown;

  /** send sends an event of the call; it is undefined where the app takes no questions. */
  constructor(private readonly send: ((event: CallEvent) => void) | undefined) {}

  /** Asks, and waits for the answer. It throws the Fault with which the app refuses. */
  async ask(question: Asked): Promise<Answer> {
    const send = this.send;
    if (!send) throw new Fault("capability_unsupported", "this app takes no questions from plugins");
    while (this.#open.size >= maxQuestions && this.#ended === undefined) await new Promise<void>((resolve) => this.#queue.push(resolve));
    if (this.#ended !== undefined) throw this.#ended;
    const id = this.#next++;
    return new Promise<Answer>((resolve, reject) => {
      this.#open.set(id, { resolve, reject });
      send({ question: { id, ...question } });
    });
  }

  /** Takes an answer of the app's. */
  take(answer: Answer): void {
    const waiting = this.#open.get(answer.id);
    if (!waiting) return;
    this.#open.delete(answer.id);
    if (answer.result === "fault") {
      try {
        waiting.reject(Fault.from(parse(answer.fault!.toString())));
      } catch (error) {
        waiting.reject(error);
      }
    } else {
      waiting.resolve(answer);
    }
    this.#queue.shift()?.();
  }

  /** Ends the questions that are open: the call has ended. */
  end(reason: unknown): void {
    if (this.#ended !== undefined) return;
    this.#ended = reason;
    for (const waiting of this.#open.values()) waiting.reject(reason);
    this.#open.clear();
    for (const go of this.#queue.splice(0)) go();
  }
}

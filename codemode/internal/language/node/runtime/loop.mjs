// The event loop: what Node has to do itself comes first; then the script waits for calls that it started and for time,
// which is asking the host.

import timers from "node:timers";
import promises from "node:timers/promises";
import { syncBuiltinESMExports } from "node:module";
import { promisify } from "node:util";

import { clock } from "./tape.mjs";

const realImmediate = setImmediate;
const MAX_DELAY = 2 ** 31 - 1;

/** Loop has the calls that a script has started, and its timers. */
export class Loop {
  #session = null;
  #idle = null;
  #open = new Map(); // what takes the outcome of a started call, by its number
  #started = 0;
  #timers = new Map(); // pending ones by id
  #last = 0;

  /** serve has the loop be a script's. idle is called when nothing is left that could go on. */
  serve(session, idle) {
    this.#session = session;
    this.#idle = idle;
  }

  /** start starts a call; settle gets its outcome. */
  start(operation, input, settle) {
    const ref = ++this.#started;
    this.#open.set(ref, settle);
    this.#session.channel.start(ref, operation, input);
  }

  /** install has timers be the script's, in its time, and serves it whenever Node itself has nothing to do. */
  install() {
    process.on("beforeExit", () => {
      if (this.#session === null) return;
      if (this.#once()) realImmediate(() => {}); // which lets Node come here again
      else this.#idle();
    });
    const set = (repeats) => (callback, delay, ...args) => this.#set(callback, delay, args, repeats);
    const clear = (timer) => {
      const id = typeof timer === "object" && timer !== null ? timer.id : Number(timer);
      this.#timers.delete(id);
    };
    const wait = (delay, value, options) => new Promise((resolve, reject) => {
      const signal = options?.signal;
      if (signal?.aborted) return reject(signal.reason);
      const timer = this.#set(() => resolve(value), delay, [], false);
      signal?.addEventListener("abort", () => (clear(timer), reject(signal.reason)), { once: true });
    });
    const every = async function* (delay, value) {
      for (;;) yield await wait(delay, value);
    };
    AbortSignal.timeout = (delay) => {
      const controller = new AbortController();
      this.#set(() => controller.abort(new DOMException("The operation was aborted due to timeout", "TimeoutError")), delay, [], false);
      return controller.signal;
    };
    const own = { setTimeout: set(false), setInterval: set(true), clearTimeout: clear, clearInterval: clear };
    Object.defineProperty(own.setTimeout, promisify.custom, { value: wait });
    for (const [name, f] of Object.entries(own)) {
      Object.defineProperty(f, "name", { value: name });
      globalThis[name] = timers[name] = f;
    }
    promises.setTimeout = wait;
    promises.setInterval = every;
    promises.scheduler.wait = (delay, options) => wait(delay, undefined, options);
    syncBuiltinESMExports();
  }

  #set(callback, delay, args, repeats) {
    if (typeof callback !== "function") throw new TypeError("setTimeout needs a function; code in a string is not run");
    let ms = Math.trunc(Number(delay));
    if (!(ms >= 0 && ms <= MAX_DELAY)) ms = 0;
    if (repeats) ms = Math.max(ms, 1);
    const timer = new Timer(this.#timers, ++this.#last, () => callback(...args), ms, repeats);
    timer.refresh();
    return timer;
  }

  #next() {
    let first = null;
    for (const t of this.#timers.values()) if (t.counts && (first === null || t.due < first.due || (t.due === first.due && t.order < first.order))) first = t;
    return first;
  }

  /** #once waits for the next timer or the end of a call, whichever comes first, and handles it. It returns false if there was neither. */
  #once() {
    const timer = this.#next();
    if (this.#open.size > 0) {
      const reply = this.#session.channel.wait(timer === null ? null : Math.max(timer.due - clock.now, 0));
      if (reply.ref !== 0) {
        const settle = this.#open.get(reply.ref);
        this.#open.delete(reply.ref);
        settle?.(reply);
        return true;
      }
      if (reply.status !== 0) this.#session.output(reply, "");
    }
    if (timer === null) return false;
    clock.advance(timer.due);
    timer.fire();
    return true;
  }
}

/** Timer is a pending setTimeout or setInterval, as Node returns it. */
class Timer {
  #all;
  #delay;
  #repeats;
  #run;

  constructor(all, id, run, delay, repeats) {
    this.#all = all;
    this.id = id;
    this.counts = true; // it keeps the script from ending
    this.#run = run;
    this.#delay = delay;
    this.#repeats = repeats;
  }

  ref() {
    this.counts = true;
    return this;
  }

  unref() {
    this.counts = false;
    return this;
  }

  hasRef() {
    return this.counts;
  }

  refresh() {
    this.due = clock.now + this.#delay * 1000;
    this.order = ++Timer.count;
    this.#all.set(this.id, this);
    return this;
  }

  close() {
    this.#all.delete(this.id);
    return this;
  }

  fire() {
    if (this.#repeats) this.refresh();
    else this.#all.delete(this.id);
    realImmediate(this.#run); // in a turn of its own, with the microtasks that follow it
  }

  [Symbol.toPrimitive]() {
    return this.id;
  }

  [Symbol.dispose ?? Symbol.for("nodejs.dispose")]() {
    this.close();
  }

  static count = 0;
}

// The plugin's side of the protocol: the handshake, the services and the end.

import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ServerDuplexStream, ServerUnaryCall, ServerWritableStream, UntypedHandleCall, sendUnaryData } from "@grpc/grpc-js";
import { Server, ServerCredentials } from "@grpc/grpc-js";
import { Asking } from "./ask.js";
import { Call } from "./call.js";
import { codes, Fault } from "./fault.js";
import { parse, stringify } from "./json.js";
import { logger, stackOf } from "./log.js";
import { shakeHands, startedByApp } from "./output.js";
import type { Plugin } from "./plugin.js";
import type { CallEvent, CallRequest, ConfigureRequest, HostMessage } from "./wire.js";
import { contractVersion, controllerService, healthService, maxMessage, maxOutput, partBytes, pluginService } from "./wire.js";

/** Events that wait to be sent, beyond which progress is dropped: the app has had what came before. */
const maxWaiting = 256;
/** Milliseconds that calls have at the end; the answer to Shutdown where there are none; and what is left after them. */
const [grace, answering, last] = [1000, 200, 500];

const log = logger();

export async function serve(plugin: Plugin<any>): Promise<void> {
  if (!startedByApp()) {
    process.stderr.write(`This is the plugin ${plugin.options.domain}, which an app starts: put it into the app's folder of plugins. \`koan plugin check PATH\` tries it.\n`);
    process.exit(1);
  }
  await new Serving(plugin).begin();
}

/** A plugin that is served. */
class Serving {
  readonly #server = new Server({ "grpc.max_receive_message_length": maxMessage, "grpc.max_send_message_length": -1 });
  readonly #calls = new Set<Conversation>();
  #ending = false;

  constructor(private readonly plugin: Plugin<any>) {}

  async begin(): Promise<void> {
    const manifest = this.plugin.manifest();
    this.#server.addService(pluginService, {
      Describe: (_: unknown, done: sendUnaryData<unknown>) => done(null, manifest),
      Configure: (call: ServerUnaryCall<ConfigureRequest, unknown>, done: sendUnaryData<unknown>) => void this.#configure(call.request).then((fault) => done(null, { fault })),
      Call: (stream: ServerWritableStream<CallRequest, CallEvent>) => this.#serve(stream.request, stream, new Asking(undefined)),
      Converse: (stream: ServerDuplexStream<HostMessage, CallEvent>) => this.#converse(stream),
    } as Record<string, UntypedHandleCall>);
    const empty = (_: unknown, done: sendUnaryData<Buffer>) => done(null, Buffer.alloc(0));
    this.#server.addService(healthService, { Check: empty });
    this.#server.addService(controllerService, {
      Shutdown: (_: unknown, done: sendUnaryData<Buffer>) => {
        done(null, Buffer.alloc(0));
        void this.#end();
      },
    });
    this.#watch();
    const folder = process.env.PLUGIN_UNIX_SOCKET_DIR || mkdtempSync(join(tmpdir(), "koan-"));
    const address = join(folder, `s${process.pid}`);
    await new Promise<void>((resolve, reject) => {
      this.#server.bindAsync(`unix:${address}`, ServerCredentials.createInsecure(), (error) => (error ? reject(error) : resolve()));
    });
    shakeHands(`1|${contractVersion}|unix|${address}|grpc\n`);
  }

  /** Listens to the process's own events. */
  #watch(): void {
    process.on("SIGINT", () => {}); // a terminal sends it to all processes of the app
    process.on("SIGTERM", () => void this.#end());
    process.on("unhandledRejection", (error) => log.error("a promise that nobody waits for was rejected", { stack: stackOf(error) }));
    process.on("uncaughtException", (error) => {
      log.error("an error that nobody caught ends the process", { stack: stackOf(error) });
      process.exit(1);
    });
    if (process.platform !== "linux") { // there the kernel does it
      const parent = process.ppid;
      setInterval(() => process.ppid !== parent && process.exit(0), 1000).unref();
    }
  }

  /** Configures the plugin, and returns the JSON of the fault that ends the app's start. */
  async #configure(request: ConfigureRequest): Promise<Buffer> {
    try {
      await this.plugin.configure(request.settings, request.stateDir);
      return Buffer.alloc(0);
    } catch (error) {
      if (error instanceof Fault) return Buffer.from(stringify(error));
      log.error("the settings were refused", { stack: stackOf(error) });
      const words = error instanceof Error ? error.message : String(error); // for the person who wrote the configuration
      return Buffer.from(stringify(new Fault("invalid_payload", words)));
    }
  }

  #converse(stream: ServerDuplexStream<HostMessage, CallEvent>): void {
    let conversation: Conversation | undefined;
    stream.on("data", (message: HostMessage) => {
      if (message.answer) conversation?.asking.take(message.answer);
      if (!message.call || conversation) return;
      conversation = this.#serve(message.call, stream, new Asking((event) => conversation?.send(event)));
    });
  }

  #serve(request: CallRequest, stream: EventStream, asking: Asking): Conversation {
    const conversation = new Conversation(this.plugin, request, stream, asking);
    this.#calls.add(conversation);
    setImmediate(() => void conversation.run().finally(() => this.#calls.delete(conversation))); // once it is known
    return conversation;
  }

  /** Ends the calls that are left, and then the process, at the latest before the app kills it. */
  async #end(): Promise<void> {
    if (this.#ending) return;
    this.#ending = true;
    await new Promise<void>((resolve) => {
      setTimeout(resolve, this.#calls.size > 0 ? grace : answering).unref();
      this.#server.tryShutdown(() => resolve());
    });
    this.#server.forceShutdown();
    try {
      await Promise.race([this.plugin.options.closing?.(), new Promise((resolve) => setTimeout(resolve, last))]);
    } catch (error) {
      log.error("the plugin did not close well", { stack: stackOf(error) });
    }
    process.exit(0);
  }
}

/** The stream of events of a call, whichever way it was made. */
type EventStream = ServerWritableStream<CallRequest, CallEvent> | ServerDuplexStream<HostMessage, CallEvent>;

/** One call. */
class Conversation {
  readonly #controller = new AbortController();
  #ended = false;

  constructor(
    private readonly plugin: Plugin<any>,
    private readonly request: CallRequest,
    private readonly stream: EventStream,
    readonly asking: Asking,
  ) {
    stream.on("cancelled", () => this.#over());
    stream.on("error", () => this.#over());
  }

  /** Sends an event, unless the last one has been sent. */
  send(event: CallEvent): void {
    if (this.#ended || (event.progress && this.stream.writableLength > maxWaiting)) return;
    this.stream.write(event);
  }

  async run(): Promise<void> {
    const { plugin, request } = this;
    const call = new Call(request, (event) => this.send(event), this.asking, this.#controller.signal, plugin.stateDir, plugin.options.metrics);
    try {
      this.#succeed(await plugin.call(request.function, this.#input(), call));
    } catch (error) {
      this.#fail(this.#explain(error, call));
    }
    this.#over();
  }

  #input(): unknown {
    try {
      return parse(this.request.input.toString() || "{}");
    } catch (error) {
      throw new Fault("invalid_payload", `the input is not JSON: ${error instanceof Error ? error.message : error}`);
    }
  }

  /** Makes a fault of what a function has thrown. */
  #explain(error: unknown, call: Call): Fault {
    const own: readonly string[] = [...codes, ...(this.plugin.options.faultCodes ?? []), "tool_not_found"];
    if (error instanceof Fault && (error.isTheApps || own.includes(error.code))) return error;
    const name = error instanceof Error ? error.name : "";
    if (call.signal.aborted && name === "AbortError") return new Fault("cancelled", "it was cancelled");
    if (error instanceof Fault) {
      call.log.error("the code of a fault is not among PluginOptions.faultCodes", { code: error.code, stack: stackOf(error) });
    } else {
      call.log.error("the function failed", { stack: stackOf(error) });
    }
    if (name === "TimeoutError") return new Fault("timeout", "it did not answer in time");
    if (name === "AbortError") return new Fault("cancelled", "it was cancelled");
    return new Fault("internal", "see the log");
  }

  #succeed(value: unknown): void {
    let out = Buffer.from(stringify(value));
    const size = out.length;
    const most = Math.max(this.request.maxOutputBytes, maxOutput);
    if (size > most) {
      const name = `${this.plugin.options.domain}.${this.request.function}`;
      throw new Fault("call_too_large", `${name} returned ${size} bytes; ${most} are allowed`, { details: { limit: most, received: size } });
    }
    while (this.request.parts && out.length > partBytes) {
      this.send({ part: { size, data: out.subarray(0, partBytes) } });
      out = out.subarray(partBytes);
    }
    this.#last({ output: out });
  }

  #fail(fault: Fault): void {
    let raw: string;
    try {
      raw = stringify(fault);
    } catch (error) {
      log.error("the fault cannot be sent", { stack: stackOf(error) });
      raw = stringify(new Fault("internal", "see the log"));
    }
    this.#last({ fault: Buffer.from(raw) });
  }

  #last(event: CallEvent): void {
    if (this.#ended) return;
    this.send(event);
    this.#ended = true;
    this.stream.end();
  }

  /** Is called when the call has ended, well or not. */
  #over(): void {
    this.#ended = true;
    const reason = new DOMException("the call was cancelled, or its time is over", "AbortError");
    this.asking.end(reason);
    this.#controller.abort(reason);
  }
}

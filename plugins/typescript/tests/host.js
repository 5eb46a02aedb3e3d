// An app as the sample sees it: a process, the handshake and gRPC.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { Client, credentials } from "@grpc/grpc-js";
import { pluginService } from "../dist/wire.js";
import { parse } from "../dist/json.js";

const sample = new URL("sample.js", import.meta.url).pathname;

/** Starts the sample as an app does, and calls it. */
export class App {
  /** @type {(Record<string, any> | string)[]} */
  log = [];
  line = "";
  folder = mkdtempSync(join(tmpdir(), "kit-"));

  /** @param {Record<string, string>} env */
  static async start(env = {}) {
    const app = new App();
    app.process = spawn(process.execPath, [sample], {
      env: { KOAN_PLUGIN: "koan.plugin.v1", PLUGIN_PROTOCOL_VERSIONS: "1", PLUGIN_UNIX_SOCKET_DIR: app.folder, PATH: process.env.PATH, ...env },
      stdio: ["ignore", "pipe", "pipe"],
    });
    app.read = once(
      createInterface(app.process.stderr).on("line", (line) => {
        try {
          app.log.push(JSON.parse(line));
        } catch {
          app.log.push(line);
        }
      }),
      "close",
    );
    app.exited = once(app.process, "exit");
    const [line] = await Promise.race([once(createInterface(app.process.stdout), "line"), app.exited.then(() => [""])]);
    app.line = line;
    if (line) app.client = new Client(`unix:${line.split("|")[3]}`, credentials.createInsecure(), { "grpc.max_receive_message_length": -1 });
    return app;
  }

  /** Waits for the end of the process, and returns its status. */
  async close() {
    const timer = setTimeout(() => this.process.kill("SIGKILL"), 10_000);
    const [status] = await this.exited;
    clearTimeout(timer);
    await this.read;
    this.client?.close();
    rmSync(this.folder, { recursive: true, force: true });
    return status;
  }

  end() {
    this.process.kill("SIGTERM");
    return this.close();
  }

  /** @param {string} message */
  entry(message) {
    const found = this.log.find((each) => typeof each === "object" && each["@message"] === message);
    if (!found) throw new Error(`${message} is not in ${JSON.stringify(this.log)}`);
    return found;
  }

  /** @param {string} path @param {Buffer} bytes */
  bytes(path, bytes) {
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(path, (b) => b, (b) => b, bytes, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  }

  /** @param {string} method @param {object} message */
  unary(method, message) {
    const { path, requestSerialize, responseDeserialize } = pluginService[method];
    return new Promise((resolve, reject) => {
      this.client.makeUnaryRequest(path, requestSerialize, responseDeserialize, message, (error, answer) => (error ? reject(error) : resolve(answer)));
    });
  }

  async configure(settings = {}) {
    const { fault } = await this.unary("Configure", { settings, stateDir: "/state" });
    return fault.length > 0 ? JSON.parse(fault.toString()) : undefined;
  }

  /** The stream of events of a Call. */
  stream(fn, input = {}, about = {}, options = {}) {
    const { path, requestSerialize, responseDeserialize } = pluginService.Call;
    const raw = typeof input === "string" ? input : JSON.stringify(input);
    return this.client.makeServerStreamRequest(path, requestSerialize, responseDeserialize, { function: fn, input: Buffer.from(raw), callId: "c1", ...about }, options);
  }

  /** All events of a Call. */
  async events(fn, input, about) {
    const events = [];
    for await (const event of this.stream(fn, input, about)) events.push(event);
    return events;
  }

  /** What a Call ends in: its output, or its fault by the key "fault". */
  async call(fn, input, about) {
    return result(await this.events(fn, input, about));
  }

  /** What a Converse ends in. answer answers questions. */
  async converse(fn, input, answer) {
    const { path, requestSerialize, responseDeserialize } = pluginService.Converse;
    const stream = this.client.makeBidiStreamRequest(path, requestSerialize, responseDeserialize, {}, { deadline: Date.now() + 20_000 });
    stream.write({ call: { function: fn, input: Buffer.from(JSON.stringify(input)), callId: "c1" } });
    const events = [];
    for await (const event of stream) {
      if (event.question) stream.write({ answer: { id: event.question.id, ...answer(event.question) } });
      else events.push(event);
    }
    stream.end();
    return result(events);
  }
}

/** @param {any[]} events */
export function result(events) {
  const last = events.at(-1);
  if (last.fault) return { fault: JSON.parse(last.fault.toString()) };
  return parse(Buffer.concat([...events.flatMap((each) => (each.part ? [each.part.data] : [])), last.output]).toString());
}

/** Answers questions about files. */
export class Files {
  closed = [];
  pieces = 0;

  /** @param {Record<string, Buffer>} files */
  constructor(files) {
    this.files = files;
  }

  answer = (q) => {
    this.pieces++;
    if (q.createFile) {
      this.files.new = Buffer.alloc(0);
      return { file: { file: "new" } };
    }
    if (q.writeFile) {
      this.files.new = Buffer.concat([this.files.new, q.writeFile.data]);
      return {};
    }
    if (q.readFile) {
      const { file, offset, length } = q.readFile;
      return { data: this.files[file].subarray(offset, offset + length) };
    }
    if (q.closeFile) this.closed.push(q.closeFile.file);
    const file = q.closeFile?.file ?? q.openFile.file;
    return { file: { file, name: "a.bin", mediaType: "x/y", size: this.files[file].length } };
  };
}

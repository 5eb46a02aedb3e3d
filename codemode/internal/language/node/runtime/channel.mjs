// The frames between a worker and its host (package wire in Go).

import { readSync, writeSync } from "node:fs";

export const Kind = Object.freeze({
  READY: 1, JOB: 2, CALL: 3, RETURN: 4, LOG: 5, PROGRESS: 6, RESULT: 7, PROBE: 8, REPORT: 9, ACCEPTED: 10, START: 11, AWAIT: 12, BINDINGS: 13, EMIT: 14,
});

export const Status = Object.freeze({ OK: 0, FAULT: 1, ENDS: 2 });

const HEADER = 9;

/** Channel is both directions of the pipe to the host. Its methods block. */
export class Channel {
  #source;
  #sink;
  #calls = 0;
  #exit;

  /** exit ends the process where the host is gone. */
  constructor(source, sink, exit) {
    this.#source = source;
    this.#sink = sink;
    this.#exit = exit;
  }

  /** read returns the next frame; null if the host has closed the pipe. */
  read() {
    const header = this.#exactly(HEADER);
    if (header === null) return null;
    const payload = this.#exactly(header.readUInt32BE(0) - (HEADER - 4));
    return payload === null ? null : { kind: header[4], id: header.readUInt32BE(5), payload };
  }

  #exactly(n) {
    const out = Buffer.allocUnsafeSlow(n);
    for (let at = 0; at < n; ) {
      const read = readSync(this.#source, out, at, n - at, null);
      if (read === 0) return null;
      at += read;
    }
    return out;
  }

  /** write sends one frame. Its payload is text or bytes, behind a prefix of bytes. */
  write(kind, id = 0, payload = "", prefix = null) {
    const before = HEADER + (prefix === null ? 0 : prefix.length);
    const text = typeof payload === "string";
    const size = text ? Buffer.byteLength(payload) : payload.length;
    const frame = Buffer.allocUnsafeSlow(before + size);
    frame.writeUInt32BE(before + size - 4, 0);
    frame[4] = kind;
    frame.writeUInt32BE(id, 5);
    if (prefix !== null) prefix.copy(frame, HEADER);
    if (text) frame.write(payload, before);
    else payload.copy(frame, before);
    for (let at = 0; at < frame.length; ) at += writeSync(this.#sink, frame, at, frame.length - at, null);
  }

  /** call makes one call and waits for its end. */
  call(operation, input) {
    this.#calls++;
    this.write(Kind.CALL, this.#calls, input, named(operation));
    return this.#reply();
  }

  /** start starts a call without waiting for its end. */
  start(ref, operation, input) {
    this.write(Kind.START, ref, input, named(operation));
  }

  /** wait waits for the end of one of the started calls; ref is 0 if none ended in that many microseconds. */
  wait(most) {
    const bound = Buffer.allocUnsafeSlow(8);
    bound.writeBigInt64BE(most === null ? -1n : BigInt(Math.ceil(most)) * 1000n);
    this.write(Kind.AWAIT, 0, bound);
    return this.#reply();
  }

  #reply() {
    const frame = this.read();
    if (frame === null || frame.kind !== Kind.RETURN || frame.payload.length < HEADER) this.#exit(4);
    return { ref: frame.id, nowMs: Number(frame.payload.readBigUInt64BE(0)), status: frame.payload[8], body: frame.payload.toString("utf8", 9) };
  }
}

/** named returns the name of an operation behind its length, as a varint. */
function named(operation) {
  const name = Buffer.from(operation);
  const length = [];
  let n = name.length;
  for (; n >= 0x80; n = Math.floor(n / 128)) length.push((n & 0x7f) | 0x80);
  length.push(n);
  return Buffer.concat([Buffer.from(length), name]);
}

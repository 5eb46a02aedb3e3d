// The interpreter's side of Node scripts: a confined process that waits for one script, runs it, and ends.
//
// What belongs here: the frames to and from the host, SDK, and how a script is compiled, run and answered for. What must
// never: the meaning of calls, which is the host's; anything that has to be trusted once a script has begun.

import fs, { readFileSync, rmSync, writeFileSync } from "node:fs";

import { Channel, Kind } from "./channel.mjs";
import { check } from "./check.mjs";
import { decode, plain } from "./encoding.mjs";
import { checks } from "./probe.mjs";
import { compile } from "./program.mjs";
import { Stage } from "./script.mjs";
import { Session } from "./session.mjs";
import { begin, install } from "./tape.mjs";

const STATM = 3;
const FRAMES_IN = 4;
const FRAMES_OUT = 5;
const EXIT_ORPHAN = 3;
const EXIT_BROKEN = 4;
const PAGE = 4096;

const exit = process.reallyExit.bind(process);
const config = JSON.parse(readFileSync("/koan/config.json", "utf8"));
const channel = new Channel(FRAMES_IN, FRAMES_OUT, exit);
let bindings = {};
let stage;

/** prepare loads and compiles what scripts use, so that it is warm. */
async function prepare() {
  process.chdir("/workspace");
  Error.stackTraceLimit = 50;
  writeFileSync("/workspace/warm.mjs", compile("const f = async (x) => ({ ...x });\nreturn await f({ a: [1] })", "").text.replaceAll("__koan__", "globalThis.warm"));
  globalThis.warm = { awaits: (line, column, top, value) => value };
  await import("/workspace/warm.mjs");
  delete globalThis.warm;
  await Promise.all(Array.from({ length: 4 }, () => fs.promises.readFile("/workspace/warm.mjs"))); // starts the threads for files
  rmSync("/workspace/warm.mjs");
  plain(decode('{"a":[1,"x",12345678901234567890]}'));
  stage = new Stage();
  install();
}

/** size returns how much memory this process has mapped. */
function size() {
  const text = Buffer.alloc(256);
  const fields = text.toString("latin1", 0, fs.readSync(STATM, text, 0, text.length, 0)).split(" ");
  fs.closeSync(STATM);
  return { dataBytes: Number(fields[5]) * PAGE, sizeBytes: Number(fields[0]) * PAGE };
}

/** serve handles the host's frames up to a job, which runs when this has returned. */
function serve() {
  for (;;) {
    const frame = channel.read();
    if (frame === null) exit(EXIT_ORPHAN);
    switch (frame.kind) {
      case Kind.BINDINGS:
        bindings = decode(frame.payload.toString());
        continue;
      case Kind.PROBE:
        checks().then((found) => {
          channel.write(Kind.REPORT, 0, plain(found));
          serve();
        });
        return;
      case Kind.JOB:
        return start(frame);
    }
    exit(EXIT_BROKEN);
  }
}

function start(frame) {
  channel.write(Kind.ACCEPTED, frame.id);
  const job = decode(frame.payload.toString());
  begin(job.nowMs, BigInt(job.seed ?? 0));
  const session = new Session(channel, job, bindings, config.vocabulary, exit);
  switch (job.task) {
    case "validate":
      return check(session);
    case "declare":
      return session.finishWith(session.fault("capability_unsupported", "the files of actions are in JavaScript, TypeScript or Python"));
  }
  stage.run(session);
}

await prepare();
channel.write(Kind.READY, 0, plain({ ...config.ready, ...size() }));
setImmediate(serve);

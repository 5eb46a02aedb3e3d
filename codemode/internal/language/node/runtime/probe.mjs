// What the confinement must prevent, tried from inside it.

import { spawnSync } from "node:child_process";
import { createSocket } from "node:dgram";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";

const attempts = {
  "namespaces: read the users of the system": () => readFileSync("/etc/passwd"),
  "namespaces: list the logs of the system": () => readdirSync("/var/log"),
  "namespaces: see processes": () => readdirSync("/proc/1"),
  "namespaces: write beside the workspace": () => writeFileSync("/koan/x", ""),
  "seccomp: open a socket: tcp": () => eventOf(connect(9, "127.0.0.1"), "connect"),
  "seccomp: open a socket: udp": () => {
    const socket = createSocket("udp4");
    socket.bind();
    return eventOf(socket, "listening");
  },
  "seccomp: open a socket: unix": () => eventOf(connect("/workspace/x"), "connect"),
  "seccomp: start a program": () => {
    const { error } = spawnSync(process.execPath, ["--version"]);
    if (error) throw error;
  },
  "seccomp: signal another process": () => process.kill(1, 9),
  "seccomp: change user": () => process.setuid(0),
};

function eventOf(emitter, name) {
  return new Promise((resolve, reject) => {
    emitter.once(name, resolve);
    emitter.once("error", reject);
  });
}

/** checks returns a check for each attempt: it is passed where the attempt fails. */
export async function checks() {
  const found = [];
  for (const [name, attempt] of Object.entries(attempts)) {
    try {
      await attempt();
      found.push({ name, ok: false });
    } catch (e) {
      found.push({ name, ok: true, detail: String(e?.message ?? e).slice(0, 200) });
    }
  }
  const names = Object.keys(process.env);
  found.push({ name: "process: the environment is the interpreter's own", ok: !names.some((n) => /KOAN|TOKEN/.test(n)) });
  return found;
}

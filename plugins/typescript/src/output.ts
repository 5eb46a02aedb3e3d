// Standard output, which belongs to the handshake in a process that an app has started.

import { writeSync } from "node:fs";
import { cookie } from "./wire.js";

/** Whether an app has started the process, as its plugin. */
export function startedByApp(): boolean {
  return process.env[cookie.key] === cookie.value;
}

/**
 * Keeps standard output for the handshake: what is printed from now on goes to standard error, and so to the app's log.
 * It is done when the package is imported, since libraries greet people when they are.
 */
export function guard(): void {
  if (!startedByApp()) return;
  process.stdout.write = process.stderr.write.bind(process.stderr) as typeof process.stdout.write;
}

/** Prints the line of the handshake. */
export function shakeHands(line: string): void {
  writeSync(1, line);
}

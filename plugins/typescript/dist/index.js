/**
 * Plugins for apps made with Koan for Go, written in TypeScript or JavaScript.
 *
 * What belongs here: the author's types and the process's side of the plugin protocol.
 */
import { guard } from "./output.js";
guard();
export { Call } from "./call.js";
export { codes, Fault } from "./fault.js";
export { File, NewFile } from "./file.js";
export { Plugin } from "./plugin.js";
export { s, Shape } from "./schema.js";

/**
 * Plugins for apps made with Koan for Go, written in TypeScript or JavaScript.
 *
 * What belongs here: the author's types and the process's side of the plugin protocol.
 */

import { guard } from "./output.js";

guard();

export { Call, type Caller } from "./call.js";
export { type Code, codes, Fault, type FaultOptions, type Retry } from "./fault.js";
export { File, NewFile } from "./file.js";
export type { Logger, Values } from "./log.js";
export type { Metric } from "./metric.js";
export { type FunctionOptions, Plugin, type PluginOptions } from "./plugin.js";
export { type FileHandle, type Infer, type JsonSchema, type Problem, s, Shape } from "./schema.js";
export type { Setting, SettingsOf } from "./settings.js";

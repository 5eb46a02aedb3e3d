import type { Plugin } from "./plugin.js";
export declare function serve(plugin: Plugin<any>): Promise<void>;

// A plugin and its functions, as their author declares them.
import { codes, Fault } from "./fault.js";
import { parse, stringify } from "./json.js";
import { checkMetrics } from "./metric.js";
import { problemsOf, s, Shape as ShapeClass, unfit } from "./schema.js";
import { fill } from "./settings.js";
import { contractVersion, maxFunctions, maxManifest, maxNeeds, maxSchema, sizeOf } from "./wire.js";
const kebab = /^[a-z0-9]+(-[a-z0-9]+)*$/;
const need = /^(koan|plugin|upstream|action)::\S{1,500}$/;
const snake = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
function isName(text) {
    return text.length <= 48 && kebab.test(text);
}
function shapeOf(schema) {
    if (schema === undefined)
        return s.object({});
    return schema instanceof ShapeClass ? schema : s.raw(schema);
}
/**
 * A plugin: make one, declare its functions, and serve it.
 *
 *     const plugin = new Plugin({ domain: "dice", version: "1.0.0" });
 *     plugin.function("roll", { summary: "Roll one die.", readOnly: true, output: s.object({ value: s.integer() }) },
 *       () => ({ value: 1 + Math.floor(6 * Math.random()) }));
 *     await plugin.serve();
 */
export class Plugin {
    options;
    functions = new Map();
    /** A folder that stays, once the plugin is configured. */
    stateDir;
    #settings;
    constructor(options) {
        this.options = options;
        if (!isName(options.domain))
            throw new TypeError(`the domain ${JSON.stringify(options.domain)} is not lower-case kebab`);
        for (const code of options.faultCodes ?? []) {
            if (!snake.test(code) || code.length > 64 || codes.includes(code)) {
                throw new TypeError(`the fault code ${JSON.stringify(code)} is not in snake_case, or is one of the app's own`);
            }
        }
        const needs = options.needs ?? [];
        for (const each of needs) {
            if (!need.test(each))
                throw new TypeError(`the need ${JSON.stringify(each)} is not the id of an operation, or a pattern of ids`);
        }
        checkMetrics(options.metrics ?? []);
        if (needs.length > maxNeeds)
            throw new TypeError(`it has ${needs.length} needs; ${maxNeeds} are allowed`);
    }
    /** What the operator has configured. It is there once the plugin runs. */
    get settings() {
        if (!this.#settings)
            throw new Error("the plugin is not configured yet");
        return this.#settings;
    }
    /** Declares a function. Its name is lower-case kebab. */
    function(name, about, run) {
        const fail = (why) => {
            throw new TypeError(`the function ${name}: ${why}`);
        };
        if (!isName(name))
            fail("the name is not lower-case kebab");
        if (this.functions.has(name))
            fail("it is declared twice");
        const [input, output] = [shapeOf(about.input), shapeOf(about.output)];
        for (const [what, shape] of Object.entries({ input, output })) {
            if (shape.schema.type !== "object")
                fail(`the ${what} is not an object`);
            if (Buffer.byteLength(JSON.stringify(shape.schema)) > maxSchema)
                fail(`the schema of the ${what} has more than ${maxSchema} bytes`);
        }
        if (about.example) {
            const problems = problemsOf(input.schema, parse(stringify(about.example)));
            if (problems.length > 0)
                fail(`the example: ${problems.map((each) => `${each.path || "it"} ${each.message}`).join("; ")}`);
        }
        this.functions.set(name, { name, about, input, output, run });
        return this;
    }
    /** Takes the settings of the app, and calls PluginOptions.configure. It throws what ends the app's start. */
    async configure(given, stateDir = "") {
        this.stateDir = stateDir || undefined;
        this.#settings = fill(this.options.settings ?? {}, given);
        await this.options.configure?.(this.#settings);
    }
    /** Calls a function with an input that is checked before. Its tests call it so, too (koan-plugin/testing). */
    async call(name, input, call) {
        const f = this.functions.get(name);
        if (!f)
            throw new Fault("tool_not_found", `the plugin ${this.options.domain} has no function ${JSON.stringify(name)}`);
        const problems = problemsOf(f.input.schema, input);
        if (problems.length > 0)
            throw unfit(problems);
        return (await f.run(f.input.read(input), call)) ?? {};
    }
    /** Serves the plugin until the app stops it. It is the last statement of the program. */
    async serve() {
        const { serve } = await import("./server.js");
        await serve(this);
    }
    /** What the app is told of the plugin. It throws what is wrong with the whole of it. */
    manifest() {
        const { domain, version, description, faultCodes, needs, keepsState, metrics, settings } = this.options;
        const manifest = {
            contractVersion,
            domain,
            version,
            description: description ?? "",
            faultCodes: [...(faultCodes ?? [])],
            needs: [...(needs ?? [])],
            converses: true,
            keepsState: keepsState ?? false,
            metrics: (metrics ?? []).map(({ name, help, histogram }) => ({ name, help: help ?? "", histogram: histogram ?? false })),
            settings: Object.entries(settings ?? {}).map(([key, each]) => ({
                key,
                defaultValue: String(each.default ?? ""),
                help: each.help ?? "",
                secret: each.secret ?? false,
                folder: each.folder ?? false,
            })),
            functions: [...this.functions.values()].map(messageOf),
        };
        if (this.functions.size === 0)
            throw new TypeError(`the plugin ${domain} has no functions`);
        if (this.functions.size > maxFunctions)
            throw new TypeError(`the plugin ${domain} has ${this.functions.size} functions; ${maxFunctions} are allowed`);
        const size = sizeOf(manifest);
        if (size > maxManifest)
            throw new TypeError(`the plugin ${domain} describes itself in ${size} bytes; ${maxManifest} are allowed`);
        return manifest;
    }
}
function messageOf(f) {
    const { title, summary, readOnly, destructive, idempotent, outside, example, timeoutMs, scopes } = f.about;
    return {
        name: f.name,
        title: title ?? "",
        summary,
        inputSchema: Buffer.from(JSON.stringify(f.input.schema)),
        outputSchema: Buffer.from(JSON.stringify(f.output.schema)),
        effects: { readOnly, destructive, idempotent, outside },
        example: example ? Buffer.from(stringify(example)) : Buffer.alloc(0),
        timeoutMs: timeoutMs ?? 0,
        scopes: scopes ?? [],
    };
}

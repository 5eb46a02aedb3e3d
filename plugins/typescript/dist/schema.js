// Schemas: builders that know their type in TypeScript, and JSON Schema as it is.
import { Fault } from "./fault.js";
/** A schema whose values have a type in TypeScript. */
export class Shape {
    schema;
    read;
    isOptional;
    fallback;
    constructor(schema, 
    /** Makes the value that a function gets of one that fits. */
    read = (value) => value, isOptional = false, fallback) {
        this.schema = schema;
        this.read = read;
        this.isOptional = isOptional;
        this.fallback = fallback;
    }
    /** It may be left out. */
    optional() {
        return new Shape(this.schema, this.read, true);
    }
    /** It may be left out, and is this then. */
    default(value) {
        const shown = typeof value === "bigint" ? Number(value) : value;
        return new Shape({ ...this.schema, default: shown }, this.read, true, { value });
    }
    /** It may be null. */
    nullable() {
        const schema = typeof this.schema.type === "string" && !this.schema.enum ? { ...this.schema, type: [this.schema.type, "null"] } : { anyOf: [this.schema, { type: "null" }] };
        return new Shape(schema, (value) => (value === null ? null : this.read(value)));
    }
    /** What it is, for people and models. */
    describe(description) {
        return new Shape({ ...this.schema, description }, this.read, this.isOptional, this.fallback);
    }
}
const keep = (options) => Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined));
/** Builders of schemas. */
export const s = {
    string: (options = {}) => new Shape({ type: "string", ...keep(options) }),
    number: (options = {}) => new Shape({ type: "number", ...keep(options) }, Number),
    /** A whole number that is safe as a number: at most 2^53 - 1. */
    integer: (options = {}) => new Shape({ type: "integer", minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER, ...keep(options) }),
    /** A whole number of any size. */
    bigint: (options = {}) => new Shape({ type: "integer", ...keep(options) }, (value) => BigInt(value)),
    boolean: (options = {}) => new Shape({ type: "boolean", ...keep(options) }),
    /** One of several values. */
    enum: (values, options = {}) => new Shape({ enum: values, ...keep(options) }),
    array: (item, options = {}) => new Shape({ type: "array", items: item.schema, ...keep(options) }, (value) => value.map(item.read)),
    /** An object with these members and no others. */
    object: (members, options = {}) => {
        const required = Object.keys(members).filter((key) => !members[key].isOptional);
        const properties = Object.fromEntries(Object.entries(members).map(([key, member]) => [key, member.schema]));
        const schema = { type: "object", properties, ...(required.length > 0 ? { required } : {}), additionalProperties: false, ...keep(options) };
        return new Shape(schema, (value) => {
            const out = {};
            for (const [key, member] of Object.entries(members)) {
                if (Object.hasOwn(value, key))
                    out[key] = member.read(value[key]);
                else if (member.fallback)
                    out[key] = structuredClone(member.fallback.value);
            }
            return out;
        });
    },
    /** An object with any keys. */
    record: (item, options = {}) => new Shape({ type: "object", additionalProperties: item.schema, ...keep(options) }, (value) => Object.fromEntries(Object.entries(value).map(([key, each]) => [key, item.read(each)]))),
    /** A value of one of several shapes: the first that fits. */
    union: (shapes, options = {}) => new Shape({ anyOf: shapes.map((each) => each.schema), ...keep(options) }, (value) => shapes.find((each) => problemsOf(each.schema, value).length === 0)?.read(value) ?? value),
    /** A file of the app's. */
    file: (options = {}) => new Shape({
        type: "object",
        properties: { $file: { type: "string", description: "The id of a file." }, name: { type: "string" }, type: { type: "string", description: "A media type." }, size: { type: "integer", description: "In bytes." } },
        required: ["$file"],
        additionalProperties: false,
        ...keep(options),
    }),
    /** Any JSON. */
    any: (options = {}) => new Shape(keep(options)),
    /** A JSON Schema as it is. Whole numbers beyond 2^53 are bigint. */
    raw: (schema) => new Shape(schema),
};
const names = { string: "a string", number: "a number", integer: "a whole number", boolean: "true or false", null: "null", array: "a list", object: "an object" };
function isOf(kind, value) {
    switch (kind) {
        case "integer":
            return typeof value === "bigint" || (typeof value === "number" && Number.isInteger(value));
        case "number":
            return typeof value === "bigint" || typeof value === "number";
        case "null":
            return value === null;
        case "array":
            return Array.isArray(value);
        case "object":
            return typeof value === "object" && value !== null && !Array.isArray(value);
    }
    return typeof value === kind;
}
/**
 * Returns what of a value is out of a schema, by the keywords that people write most. The app has checked inputs by all
 * keywords.
 */
export function problemsOf(schema, value, root = schema, path = "") {
    const fail = (message) => [{ path, message }];
    if (typeof schema.$ref === "string")
        return problemsOf(resolve(schema.$ref, root), value, root, path);
    const kinds = schema.type === undefined ? [] : Array.isArray(schema.type) ? schema.type : [schema.type];
    if (kinds.length > 0 && !kinds.some((kind) => isOf(kind, value)))
        return fail(`must be ${names[String(kinds[0])] ?? kinds[0]}`);
    if (Array.isArray(schema.enum) && !schema.enum.some((each) => same(each, value)))
        return fail(`must be one of ${schema.enum.map((each) => JSON.stringify(each)).join(", ")}`);
    if ("const" in schema && !same(schema.const, value))
        return fail(`must be ${JSON.stringify(schema.const)}`);
    if (Array.isArray(schema.anyOf)) {
        const all = schema.anyOf.map((each) => problemsOf(each, value, root, path));
        if (!all.some((problems) => problems.length === 0))
            return all[0] ?? [];
    }
    const why = outOfBounds(schema, value);
    if (why)
        return fail(why);
    if (Array.isArray(value)) {
        const items = schema.items;
        return isSchema(items) ? value.flatMap((each, i) => problemsOf(items, each, root, `${path}/${i}`)) : [];
    }
    return isOf("object", value) ? problemsOfMembers(schema, value, root, path) : [];
}
function problemsOfMembers(schema, value, root, path) {
    const properties = (schema.properties ?? {});
    const at = (key) => `${path}/${key.replaceAll("~", "~0").replaceAll("/", "~1")}`;
    const out = [];
    for (const key of schema.required ?? []) {
        if (!Object.hasOwn(value, key))
            out.push({ path: at(key), message: "is missing" });
    }
    for (const [key, each] of Object.entries(value)) {
        const own = Object.hasOwn(properties, key) ? properties[key] : schema.additionalProperties;
        if (own === false)
            out.push({ path: at(key), message: "is not known" });
        else if (isSchema(own))
            out.push(...problemsOf(own, each, root, at(key)));
    }
    return out;
}
function outOfBounds(schema, value) {
    const bound = (key) => (typeof schema[key] === "number" ? schema[key] : undefined);
    const beyond = (size, least, most, text) => {
        const [min, max] = [bound(least), bound(most)];
        if (min !== undefined && size < min)
            return text(min)[0];
        if (max !== undefined && size > max)
            return text(max)[1];
        return "";
    };
    if (typeof value === "number" || typeof value === "bigint")
        return beyond(value, "minimum", "maximum", (n) => [`must be at least ${n}`, `must be at most ${n}`]);
    const counted = (unit) => (n) => [`must have at least ${n} ${unit}`, `must have at most ${n} ${unit}`];
    if (Array.isArray(value))
        return beyond(value.length, "minItems", "maxItems", counted("items"));
    if (typeof value !== "string")
        return "";
    const why = beyond([...value].length, "minLength", "maxLength", counted("characters"));
    if (why || typeof schema.pattern !== "string")
        return why;
    return new RegExp(schema.pattern, "u").test(value) ? "" : `must match ${schema.pattern}`;
}
function isSchema(value) {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}
function same(a, b) {
    return a === b || (typeof a === "object" && typeof b === "object" && JSON.stringify(a) === JSON.stringify(b));
}
/** Finds what a reference within a schema refers to. */
function resolve(reference, root) {
    let at = root;
    for (const part of reference.replace(/^#\/?/, "").split("/").filter(Boolean)) {
        at = isSchema(at) ? at[part.replaceAll("~1", "/").replaceAll("~0", "~")] : undefined;
    }
    return isSchema(at) ? at : {};
}
/** Makes the fault of an input that does not fit. */
export function unfit(problems) {
    const first = problems[0];
    return new Fault("invalid_payload", `${first.path || "the input"}: ${first.message}`, { path: first.path, details: problems });
}

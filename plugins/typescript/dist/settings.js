// Settings, which the operator of an app fills in.
import { Fault } from "./fault.js";
/** Returns the settings of the app's configuration. It throws the Fault that ends the app's start. */
export function fill(declared, given) {
    const out = {};
    const problems = [];
    for (const [key, setting] of Object.entries(declared)) {
        const text = given[key] ?? String(setting.default ?? "");
        const value = valueOf(text, setting.default);
        if (value === undefined)
            problems.push(setting.default === undefined ? `${key} is missing` : `${key} must be ${what(setting.default)}`);
        out[key] = value;
    }
    if (problems.length > 0)
        throw new Fault("invalid_payload", problems.join("; "));
    return out;
}
function what(value) {
    return typeof value === "number" ? "a number" : "true or false";
}
/** Returns the value of a text of the configuration, undefined for none. */
function valueOf(text, fallback) {
    switch (typeof fallback) {
        case "number":
            return text.trim() !== "" && Number.isFinite(Number(text)) ? Number(text) : undefined;
        case "boolean":
            return { true: true, "1": true, yes: true, false: false, "0": false, no: false, "": false }[text.toLowerCase()];
        case "undefined":
            return text === "" ? undefined : text;
    }
    return text;
}

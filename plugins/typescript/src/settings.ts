// Settings, which the operator of an app fills in.

import { Fault } from "./fault.js";

/** What a plugin says of a setting. One without a default must be configured. */
export interface Setting {
  /** Its type is the setting's: a text, a number, or true or false. */
  default?: string | number | boolean;
  help?: string;
  /** Its value is in no log, journal or fault of the app. */
  secret?: boolean;
  /** It names a file or folder that the plugin reads. */
  folder?: boolean;
}

type Widened<V> = V extends string ? string : V extends number ? number : V extends boolean ? boolean : string;

/** The values of settings. */
export type SettingsOf<D extends Record<string, Setting>> = { readonly [K in keyof D]: D[K] extends { default: infer V } ? Widened<V> : string };

/** Returns the settings of the app's configuration. It throws the Fault that ends the app's start. */
export function fill<D extends Record<string, Setting>>(declared: D, given: Record<string, string>): SettingsOf<D> {
  const out: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const [key, setting] of Object.entries(declared)) {
    const text = given[key] ?? String(setting.default ?? "");
    const value = valueOf(text, setting.default);
    if (value === undefined) problems.push(setting.default === undefined ? `${key} is missing` : `${key} must be ${what(setting.default)}`);
    out[key] = value;
  }
  if (problems.length > 0) throw new Fault("invalid_payload", problems.join("; "));
  return out as SettingsOf<D>;
}

function what(value: string | number | boolean): string {
  return typeof value === "number" ? "a number" : "true or false";
}

/** Returns the value of a text of the configuration, undefined for none. */
function valueOf(text: string, fallback: Setting["default"]): unknown {
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

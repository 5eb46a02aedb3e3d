// The log: lines of JSON on standard error, which the app reads with their levels.

/** Values of an entry of the log. */
export type Values = Record<string, unknown>;

/** Writes to the app's log. */
export interface Logger {
  debug(message: string, values?: Values): void;
  info(message: string, values?: Values): void;
  warn(message: string, values?: Values): void;
  error(message: string, values?: Values): void;
}

const maxStack = 32 << 10; // characters; an entry has at most 64 KiB

/** Returns a logger whose entries all have some values. */
export function logger(about: Values = {}): Logger {
  const at = (level: string) => (message: string, values: Values = {}) => {
    process.stderr.write(`${line(level, message, { ...about, ...values })}\n`);
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") };
}

function line(level: string, message: string, values: Values): string {
  const shown: Values = { "@timestamp": new Date().toISOString(), "@level": level, "@message": message };
  for (const [key, value] of Object.entries(values)) {
    if (!key.startsWith("@")) shown[key] = value instanceof Error ? stackOf(value) : value;
  }
  try {
    return JSON.stringify(shown, (_, value: unknown) => (typeof value === "bigint" ? value.toString() : value));
  } catch {
    return JSON.stringify({ "@level": level, "@message": message, values: "they have no JSON" });
  }
}

/** Returns what is told of an error in the log, with its causes. */
export function stackOf(error: unknown): string {
  const text = error instanceof Error ? (error.stack ?? String(error)) : String(error);
  const cause = error instanceof Error && error.cause !== undefined ? `\ncaused by ${stackOf(error.cause)}` : "";
  return (text + cause).slice(0, maxStack);
}

/** Values of an entry of the log. */
export type Values = Record<string, unknown>;
/** Writes to the app's log. */
export interface Logger {
    debug(message: string, values?: Values): void;
    info(message: string, values?: Values): void;
    warn(message: string, values?: Values): void;
    error(message: string, values?: Values): void;
}
/** Returns a logger whose entries all have some values. */
export declare function logger(about?: Values): Logger;
/** Returns what is told of an error in the log, with its causes. */
export declare function stackOf(error: unknown): string;

/** Reads JSON. A whole number that is not safe as a number is a bigint. */
export declare function parse(text: string): unknown;
/** Writes JSON. A bigint is a whole number. What JSON has no value for is a TypeError. */
export declare function stringify(value: unknown): string;

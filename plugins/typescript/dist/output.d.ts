/** Whether an app has started the process, as its plugin. */
export declare function startedByApp(): boolean;
/**
 * Keeps standard output for the handshake: what is printed from now on goes to standard error, and so to the app's log.
 * It is done when the package is imported, since libraries greet people when they are.
 */
export declare function guard(): void;
/** Prints the line of the handshake. */
export declare function shakeHands(line: string): void;

import { Readable, Writable } from "node:stream";
import type { Asking } from "./ask.js";
import type { FileHandle } from "./schema.js";
import type { Answer } from "./wire.js";
/** Returns the handle in the app's answer. */
export declare function handleOf(answer: Answer): Required<FileHandle>;
/** A file that is read. */
export declare class File {
    private readonly asking;
    readonly handle: Required<FileHandle>;
    readonly name: string;
    /** A media type. */
    readonly type: string;
    /** In bytes. */
    readonly size: number;
    constructor(asking: Asking, handle: Required<FileHandle>);
    /** Reads up to 1 MiB from an offset: fewer bytes than asked for only at the file's end, none behind it. */
    read(offset: number, length: number): Promise<Buffer>;
    /** Reads all of the file, piece by piece. */
    [Symbol.asyncIterator](): AsyncGenerator<Buffer>;
    /** The file as a stream of Node's. */
    stream(): Readable;
    /** All of the file. */
    bytes(): Promise<Buffer>;
}
/**
 * A file that is written: a stream of Node's. Once it has finished, handle names it for what a function returns; one that
 * has not finished when the call ends is dropped.
 */
export declare class NewFile extends Writable {
    #private;
    private readonly asking;
    private readonly id;
    constructor(asking: Asking, id: string);
    /** Names the file, once it has finished. */
    get handle(): Required<FileHandle>;
    /** Writes what is left, and returns the file's handle. */
    close(last?: string | Uint8Array): Promise<Required<FileHandle>>;
    _writev(chunks: {
        chunk: Buffer;
    }[], done: (error?: Error | null) => void): void;
    _write(chunk: Buffer, _: BufferEncoding, done: (error?: Error | null) => void): void;
    _final(done: (error?: Error | null) => void): void;
}

// Files of the app's, as streams of any size.
import { Readable, Writable } from "node:stream";
import { maxPiece } from "./wire.js";
/** Returns the handle in the app's answer. */
export function handleOf(answer) {
    const f = answer.file ?? { file: "", name: "", mediaType: "", size: 0 };
    return { $file: f.file, name: f.name, type: f.mediaType, size: f.size };
}
/** A file that is read. */
export class File {
    asking;
    handle;
    name;
    /** A media type. */
    type;
    /** In bytes. */
    size;
    constructor(asking, handle) {
        this.asking = asking;
        this.handle = handle;
        ({ name: this.name, type: this.type, size: this.size } = handle);
    }
    /** Reads up to 1 MiB from an offset: fewer bytes than asked for only at the file's end, none behind it. */
    async read(offset, length) {
        const answer = await this.asking.ask({ readFile: { file: this.handle.$file, offset, length: Math.min(length, maxPiece) } });
        return answer.data ?? Buffer.alloc(0);
    }
    /** Reads all of the file, piece by piece. */
    async *[Symbol.asyncIterator]() {
        let next = this.read(0, maxPiece);
        for (let at = 0;;) {
            const piece = await next;
            if (piece.length === 0)
                return;
            at += piece.length;
            const last = piece.length < maxPiece;
            if (!last) {
                next = this.read(at, maxPiece); // while the caller works on this one
                next.catch(() => { }); // whoever waits for it gets it
            }
            yield piece;
            if (last)
                return;
        }
    }
    /** The file as a stream of Node's. */
    stream() {
        return Readable.from(this, { objectMode: false });
    }
    /** All of the file. */
    async bytes() {
        const pieces = [];
        for await (const piece of this)
            pieces.push(piece);
        return Buffer.concat(pieces);
    }
}
/**
 * A file that is written: a stream of Node's. Once it has finished, handle names it for what a function returns; one that
 * has not finished when the call ends is dropped.
 */
export class NewFile extends Writable {
    asking;
    id;
    #handle;
    constructor(asking, id) {
        super({ highWaterMark: maxPiece });
        this.asking = asking;
        this.id = id;
        this.on("error", () => { }); // who waits for it gets it
    }
    /** Names the file, once it has finished. */
    get handle() {
        if (!this.#handle)
            throw new Error("the file has not finished yet");
        return this.#handle;
    }
    /** Writes what is left, and returns the file's handle. */
    async close(last) {
        await new Promise((resolve, reject) => {
            this.once("error", reject);
            if (last === undefined)
                this.end(resolve);
            else
                this.end(last, resolve);
        });
        return this.handle;
    }
    _writev(chunks, done) {
        this.#write(Buffer.concat(chunks.map((each) => each.chunk))).then(() => done(), done);
    }
    _write(chunk, _, done) {
        this.#write(chunk).then(() => done(), done);
    }
    _final(done) {
        this.asking.ask({ closeFile: { file: this.id } }).then((answer) => {
            this.#handle = handleOf(answer);
            done();
        }, done);
    }
    async #write(data) {
        for (let at = 0; at < data.length; at += maxPiece) {
            await this.asking.ask({ writeFile: { file: this.id, data: data.subarray(at, at + maxPiece) } });
        }
    }
}

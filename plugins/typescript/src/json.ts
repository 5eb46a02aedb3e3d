// JSON whose whole numbers keep all of their digits: those beyond 2^53 are bigint.

const digits = /^-?\d+$/;
const numberAt = /-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/y;

/** Reads JSON. A whole number that is not safe as a number is a bigint. */
export function parse(text: string): unknown {
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  const marker = `${crypto.randomUUID()}:`; // which no text of the input can have
  let out = "";
  let copied = 0;
  for (let at = 0; at < text.length; ) {
    const c = text.charCodeAt(at);
    if (c === 0x22) {
      at = afterString(text, at);
    } else if (c === 0x2d || (c >= 0x30 && c <= 0x39)) {
      numberAt.lastIndex = at;
      const found = numberAt.exec(text)?.[0] ?? text.charAt(at);
      if (digits.test(found) && !Number.isSafeInteger(Number(found)) && !/^-?0\d/.test(found)) {
        out += `${text.slice(copied, at)}"${marker}${found}"`;
        copied = at + found.length;
      }
      at += found.length;
    } else {
      at++;
    }
  }
  const value: unknown = JSON.parse(out + text.slice(copied));
  return restore(value, marker);
}

/** Returns where a string that begins at a position ends. */
function afterString(text: string, at: number): number {
  for (let end = at + 1; ; ) {
    end = text.indexOf('"', end);
    if (end < 0) return text.length;
    let slashes = 0;
    while (text.charCodeAt(end - 1 - slashes) === 0x5c) slashes++;
    end++;
    if (slashes % 2 === 0) return end;
  }
}

function restore(value: unknown, marker: string): unknown {
  if (typeof value === "string") return value.startsWith(marker) ? BigInt(value.slice(marker.length)) : value;
  if (Array.isArray(value)) return value.map((each) => restore(each, marker));
  if (value === null || typeof value !== "object") return value;
  for (const [key, each] of Object.entries(value)) {
    if (typeof each === "string" || (typeof each === "object" && each !== null)) {
      Object.defineProperty(value, key, { value: restore(each, marker), writable: true, enumerable: true, configurable: true });
    }
  }
  return value;
}

/** Writes JSON. A bigint is a whole number. What JSON has no value for is a TypeError. */
export function stringify(value: unknown): string {
  const marker = `${crypto.randomUUID()}:`;
  let big = false;
  const text = JSON.stringify(value, (key, each: unknown) => {
    if (typeof each === "bigint") {
      big = true;
      return marker + each.toString();
    }
    if (typeof each === "number" && !Number.isFinite(each)) throw new TypeError(`${key || "it"} is ${each}, which is no number of JSON`);
    return each;
  }) as string | undefined;
  if (text === undefined) throw new TypeError("it has no JSON");
  return big ? text.replace(new RegExp(`"${marker}(-?\\d+)"`, "g"), "$1") : text;
}

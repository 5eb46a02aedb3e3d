// => ["Error: first","    at inner (script:8:9)","    at script:12:8","Error: second","    at script:15:21","script:18:43","no"]
import { detect } from "@codemode/servers/vision";

type Line = string;

function inner(): never {
  // the compiler takes types and comments away, and with them lines
  throw new Error("first");
}
const out: Line[] = [];
try {
  inner();
} catch (e) {
  out.push(...e.stack.split("\n"));
  const { stack } = new Error("second");
  out.push(...stack.split("\n"));
}
const third = await detect({}).then(() => new Error("third"));
out.push(/script:\d+:\d+/.exec(third?.stack)[0]);
out.push({ stack: "no" }.stack);
globalThis.result = out;

// => ["detect","detect"]
import { detect } from "@codemode/servers/vision";

const calls: string[] = [];
function counted(value: any, context: { name: string | symbol }) {
  return function (this: unknown, ...args: unknown[]) { calls.push(String(context.name)); return value.apply(this, args); };
}
class Eyes {
  @counted
  async detect(n: number) { return detect({ n }); }
}
const eyes = new Eyes();
await eyes.detect(1);
await eyes.detect(2);
export { calls };
calls;

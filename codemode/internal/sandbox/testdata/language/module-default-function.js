// => [2,4,6]
import { detect } from "@codemode/servers/vision";

export default async function () {
  const out = [];
  for (const n of [1, 2, 3]) out.push((await detect({ n: n * 2 })).n);
  return out;
}

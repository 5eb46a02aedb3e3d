// => 6
import { detect } from "@codemode/servers/vision";

async function* pages() {
  for (let page = 1; page <= 3; page++) yield (await detect({ page })).page;
}
let sum = 0;
for await (const page of pages()) sum += page;
sum;

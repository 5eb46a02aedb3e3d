// => [1,4,9,16,25]
import { detect } from "@codemode/servers/vision";

async function pooled<T, R>(items: T[], size: number, work: (item: T) => Promise<R>): Promise<R[]> {
  const out: R[] = new Array(items.length);
  let next = 0;
  await Promise.all(Array.from({ length: size }, async () => {
    while (next < items.length) {
      const i = next++;
      out[i] = await work(items[i]);
    }
  }));
  return out;
}

await pooled([1, 2, 3, 4, 5], 2, async (n) => (await detect({ n: n * n })).n as number);

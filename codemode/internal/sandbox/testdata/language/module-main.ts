// => {"ok":2,"failed":["not_found"]}
import { todo_get_by_id } from "@codemode/servers/koan";
import { ToolCallError } from "@codemode/errors";

async function main(): Promise<{ ok: number; failed: string[] }> {
  const settled = await Promise.allSettled(["1", "9", "1"].map((id) => todo_get_by_id({ id })));
  const failed = settled.flatMap((s) => (s.status === "rejected" && s.reason instanceof ToolCallError ? [s.reason.code] : []));
  return { ok: settled.filter((s) => s.status === "fulfilled").length, failed };
}

export default await main();

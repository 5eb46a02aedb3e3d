// => ["caught","not_found","finally"]
import { todo_get_by_id } from "@codemode/servers/koan";

const seen = [];
await todo_get_by_id({ id: "nope" })
  .then(() => seen.push("found"))
  .catch((e) => seen.push("caught", e.code))
  .finally(() => seen.push("finally"));
seen;

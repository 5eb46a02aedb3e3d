// => ["1","1"]
import * as koan from "@codemode/servers/koan";
import * as vision from "@codemode/servers/vision";

const [a, b] = await Promise.all([koan.todo_get_by_id({ id: "1" }), vision.detect({ id: "1" })]);
globalThis.__codemode_result__ = [a.id, b.id];

// => {"title":"Milk","seen":{"path":"a.png"}}
import { detect } from "@codemode/servers/vision";
import { todo_get_by_id } from "@codemode/servers/koan";

interface Seen { path: string }

const todo = await todo_get_by_id({ id: "1" });
const seen: Seen = await detect({ path: "a.png" });
export const summary = { title: todo.title as string, seen };
summary;

// => ["Milk","Milk",true]
import { todo_get_by_id } from "@codemode/servers/koan";

const now = SDK.Entities.Todo.getById("1");
const later = await todo_get_by_id({ id: "1" });
[now.title, later.title, SDK.Vision.detect({ a: true }).a];

// => ["SchemaValidationError","/id","todo.get-by-id","function",true]
import { todo_get_by_id as get } from "@codemode/servers/koan";
import { CodemodeError } from "@codemode/errors";
await get({ id: () => 1 }).catch((e) => [e.name, e.path, e.toolName, e.received, e instanceof CodemodeError]);

// => ["todo.delete","todo.get-by-id"]
import * as koan from "@codemode/servers/koan";
koan.__meta__.tools.map((t) => t.toolName);

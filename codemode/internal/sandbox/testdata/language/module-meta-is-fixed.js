// => [2,"koan","todo.delete"]
import * as koan from "@codemode/servers/koan";
const meta = koan.__meta__;
try { meta.tools.push({}); } catch {}
try { meta.serverId = "mine"; } catch {}
try { meta.tools[0].toolName = "mine"; } catch {}
try { meta.more = 1; } catch {}
[meta.tools.length, meta.more ?? meta.serverId, meta.tools[0].toolName];

// What the editor knows of scripts in Python: their grammar, the names below SDK, and what the server's check says.
import { python as grammar } from "@codemirror/lang-python";
import { tool } from "./api.js";
import { entities, overview } from "./session.js";

// snake is the spelling of a name that Python's programmers expect.
const snake = (name) => name.replace(/-/g, "_").replace(/([a-z0-9])([A-Z])/g, "$1_$2").replace(/([A-Z])([A-Z][a-z])/g, "$1_$2").toLowerCase();

// methods are those that scripts have beside the operations of the same name, by operation.
const methods = { collection: ["collection", "first_page", "page", "each", "all"], "get-by-id": ["get_by_id", "find_by_id"] };

// functions are those of plugins or actions: [owner, name] of each.
const functions = (list) => list.map((op) => op.id.replace(/^\w+::/, "").split("."));

// members returns what stands behind a path of names, such as SDK.Entities, with what each is.
function members(path) {
  const { actions, plugins } = overview.value, domains = functions(plugins);
  const [sdk, group, name, ...more] = path;
  if (sdk !== "SDK" || more.length) return [];
  const e = entities.value.find((one) => one.name === name);
  if (group === "Entities" && name) return e ? e.operations.flatMap((op) => methods[op] || [snake(op)]).map((label) => ({ label, type: "method" })) : [];
  if (group === "Entities") return entities.value.map((one) => ({ label: one.name, type: "class", info: one.description }));
  if (name) return [];
  if (group === "Out") return ["answer", "info", "warn", "error", "progress", "file"].map((label) => ({ label, type: "method" }));
  if (group === "Files") return ["get", "text", "json", "create"].map((label) => ({ label, type: "method" }));
  if (group === "run") return ["id", "set", "dry_run"].map((label) => ({ label, type: "property" }));
  if (group === "Actions") return actions.map((op) => ({ label: snake(functions([op])[0].at(-1)), type: "method", info: op.summary }));
  if (group) return plugins.filter((_, i) => pascal(domains[i][0]) === group).map((op) => ({ label: snake(functions([op])[0].at(-1)), type: "method", info: op.summary }));
  return ["Entities", "Out", "args", "run", "Files", "Servers", ...(actions.length ? ["Actions"] : []), ...new Set(domains.map(([domain]) => pascal(domain)))].map((label) => ({ label, type: "property" }));
}

const pascal = (name) => name.replace(/(^|-)(\w)/g, (_, dash, c) => c.toUpperCase());

function complete(context) {
  const at = context.matchBefore(/[\w.]+/);
  if (!at) return null;
  const path = at.text.split("."), typed = path.pop();
  const options = path.length ? members(path) : [{ label: "SDK", type: "variable" }];
  return options.length ? { from: context.pos - typed.length, validFor: /^\w*$/, options } : null;
}

// check asks the server, and returns what the editor shows at its place.
async function check(view) {
  const text = view.state.doc.toString();
  if (!text.trim()) return [];
  try {
    const { result } = await tool("koan.code.validate", { code: text, language: "python" });
    if (text !== view.state.doc.toString()) return [];
    return (result.diagnostics || []).map((d) => {
      const line = view.state.doc.line(Math.min(Math.max(d.line || 1, 1), view.state.doc.lines)), from = Math.min(line.from + Math.max((d.column || 1) - 1, 0), line.to);
      const name = text.slice(from, line.to).match(/^[\w.]+/); // the names as far as they are joined by dots
      return { from, to: name ? from + name[0].length : line.to, severity: d.severity === "warning" ? "warning" : "error", message: d.hint ? d.message + "\n" + d.hint : d.message };
    });
  } catch (e) {
    console.warn("check:", e.message);
    return [];
  }
}

export const python = { grammar: grammar(), complete, check };

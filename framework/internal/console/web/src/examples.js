// Examples of scripts, about the app's own entities.
import { own } from "./parts/own.js";
import { may } from "./session.js";

const list = (e) => e.path.slice(e.path.lastIndexOf("/") + 1).replace(/-(\w)/g, (_, c) => c.toUpperCase()) + "s";
// sample is a value that fits a JSON Schema, as far as its types say: a script to begin with.
function sample(schema, name) {
  const type = Array.isArray(schema.type) ? schema.type[0] : schema.type;
  if (schema.const !== undefined) return schema.const;
  if (schema.default !== undefined) return schema.default;
  if (schema.enum) return schema.enum[0];
  if (type === "object") return Object.fromEntries((schema.required || []).map((k) => [k, sample(own(schema.properties, k) || {}, k)]));
  if (type === "integer" || type === "number") return schema.minimum ?? 1;
  if (type === "boolean") return false;
  if (type === "array") return [];
  return type === "string" ? (schema.format === "date" ? "2026-01-31" : name) : null;
}

const labelOf = (e) => e.fields.find((f) => /^(name|title|label)$/.test(f.name) && !f.writeOnly)?.name || e.key;

// first is what an empty editor begins with.
export function first(entities, language) {
  const e = entities.find((e) => may(e, "collection") && labelOf(e) !== e.key) || entities[0];
  if (!e) return language === "python" ? "SDK.Out.answer(6 * 7)\n" : "SDK.Out.answer(6 * 7);\n";
  if (language === "python") return `# Ctrl Enter runs this as a dry run: nothing is kept.\npage = SDK.Entities.${e.name}.collection(page_size=5)\nSDK.Out.answer([one.${labelOf(e)} for one in page.items])\n`;
  return `// Ctrl Enter runs this as a dry run: nothing is kept.\nconst ${list(e)} = SDK.Entities.${e.name}.collection({ pageSize: 5 });\nSDK.Out.answer(${list(e)}.items.map((one) => one.${labelOf(e)}));\n`;
}

export function examples(entities, overview, language) {
  if (language === "python") return inPython(entities);
  const out = [];
  const read = entities.find((e) => may(e, "collection") && labelOf(e) !== e.key) || entities.find((e) => may(e, "collection")), write = entities.filter((e) => may(e, "patch") && e.fields.some((f) => f.type === "enum" && !f.readOnly && !f.immutable)).sort((a, b) => Number(labelOf(b) !== b.key) - Number(labelOf(a) !== a.key))[0], related = entities.find((e) => e.relationships.length && may(e, "collection"));
  if (read) out.push({ title: "Read a page", code: first([read]) });
  if (read && may(read, "count")) out.push({ title: "Count everything", code: `SDK.Out.answer({\n${entities.filter((e) => may(e, "count")).slice(0, 8).map((e) => `  ${e.name}: SDK.Entities.${e.name}.count(),`).join("\n")}\n});\n` });
  if (write) {
    const field = write.fields.find((f) => f.type === "enum" && !f.readOnly && !f.immutable);
    const [a, b] = [field.enum[0], field.enum[field.enum.length - 1]];
    out.push({ title: "Change rows, one by one", code: `// Try it as a dry run first: the changes are shown, and nothing is kept.\nlet changed = 0;\nfor (const one of SDK.Entities.${write.name}.each({ filter: { ${field.name}: ${JSON.stringify(a)} } })) {\n  SDK.Entities.${write.name}.patch(one.${write.key}, { ${field.name}: ${JSON.stringify(b)} });\n  changed++;\n}\nSDK.Out.answer({ changed });\n` });
  }
  if (related) out.push({ title: "Follow a relationship", code: `const page = SDK.Entities.${related.name}.collection({ with: ${JSON.stringify(related.relationships[0].name)}, pageSize: 5 });\nSDK.Out.answer(page.items);\n` });
  const action = overview.actions[0];
  if (action) out.push({ title: "Call an action", code: `SDK.Out.answer(SDK.Actions.${action.id.replace(/^action::/, "").replace(/-(\w)/g, (_, c) => c.toUpperCase())}(${JSON.stringify(action.example || sample(action.input))}));\n` });
  out.push({ title: "Write a log and report progress", code: `for (let i = 1; i <= 3; i++) {\n  console.log("step", i);\n  SDK.Out.progress(i, 3, "step " + i);\n}\n` });
  return out;
}

function inPython(entities) {
  const read = entities.find((e) => may(e, "collection")), counted = entities.filter((e) => may(e, "count")).slice(0, 8);
  const out = [];
  if (read) out.push({ title: "Read a page", code: first(entities, "python") });
  if (counted.length) out.push({ title: "Count everything", code: `SDK.Out.answer({\n${counted.map((e) => `    "${e.name}": SDK.Entities.${e.name}.count(),`).join("\n")}\n})\n` });
  out.push({ title: "Write a log and report progress", code: 'for i in range(1, 4):\n    print("step", i)\n    SDK.Out.progress(i, 3, f"step {i}")\n' });
  return out;
}

// Names: of modules and functions (specs/code-mcp-guide.md), and what is near to one.

/** serverModule returns the name of a server's module: snake_case. */
export function serverModule(id) {
  const out = id.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().replace(/[^\p{L}\p{M}\p{Nd}]+/gu, "_").replace(/^_+|_+$/g, "");
  if (out === "") return "server";
  return /^[0-9]/.test(out) ? `_${out}` : out;
}

/** toolFunction returns the guide's name of a tool's function: camelCase. */
export function toolFunction(name) {
  return name.split(/[._-]+/).filter(Boolean).map((part, i) => (i === 0 ? part : part[0].toUpperCase() + part.slice(1))).join("");
}

/** didYouMean returns the end of a message that names what is near, "" if nothing is. */
export function didYouMean(name, known) {
  let best = "";
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const k of known) {
    const d = plainly(k) === plainly(name) ? 0 : distance(name.slice(0, 60), k.slice(0, 60));
    if (d < least) [best, least] = [k, d];
  }
  return best === "" ? "" : `; did you mean ${JSON.stringify(best)}?`;
}

/** plainly returns a name without what the spellings of one differ by. */
function plainly(name) {
  return name.replaceAll("_", "").toLowerCase();
}

function distance(a, b) {
  let row = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) next[j] = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
    row = next;
  }
  return row[b.length];
}

import { html, useSignal } from "../html.js";
import { defaultSet, entity } from "../session.js";
import { own } from "./own.js";
import { short } from "./value.js";

const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
const verbs = { create: "Creates", update: "Updates", delete: "Deletes" };
const past = { create: "Created", update: "Updated", delete: "Deleted" };
const moods = { create: "good", update: "warn", delete: "bad" };

function plain(name, row) {
  if (!row) return row;
  const { [entity(name)?.version]: _, ...rest } = row;
  return rest;
}

// invert turns the changes of an undo into those of the run that it undoes. What hooks add in the
// undo is left out, as far as it is of a kind that the run has not: counts are the run's.
// Versions are left out, too, since they count on in an undo.
export function invert(changes, counts) {
  const of = { create: "created", update: "updated", delete: "deleted" };
  const inverted = [...changes].reverse().map((c) => ({ ...c, action: { create: "delete", delete: "create", update: "update" }[c.action], before: plain(c.entity, c.after), after: plain(c.entity, c.before) }));
  return inverted.filter((c) => counts.some((n) => n.entity === c.entity && n.set === c.set && n[of[c.action]] > 0));
}

// isSeen reports whether the reader sees a difference: rows with parts that he may not read are listed
// whatever becomes of them, and their versions count on.
export const isSeen = (c) => c.action !== "update" || !same(plain(c.entity, c.before), plain(c.entity, c.after));

// fields are those of a change that differ: all that a row has where it comes or goes.
function fields(c) {
  const before = c.before || {}, after = c.after || {};
  return [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((k) => k !== "id" && !same(own(before, k), own(after, k)) && !(c.action !== "update" && (own(before, k) ?? own(after, k) ?? null) === null));
}

const titleOf = (c) => {
  const row = c.after || c.before || {};
  return row.name || row.title || row.label || "";
};

function Change({ change: c, done }) {
  const names = fields(c);
  const link = c.entity && c.action !== "delete" && done ? "/console/entities/" + c.entity + "/" + encodeURIComponent(c.id) + (c.set && c.set !== defaultSet() ? "?set=" + encodeURIComponent(c.set) : "") : null;
  return html`<li class="change">
    <p class="what"><span class=${"badge " + moods[c.action]}>${(done ? past : verbs)[c.action]}</span> <strong>${c.entity || "a row that you may not see"}</strong>
      ${titleOf(c) && html`<span>${short(titleOf(c), 60)}</span>`} ${link ? html`<a href=${link}><code>${short(c.id, 40)}</code></a>` : html`<code>${short(c.id, 40)}</code>`}
      ${c.set && c.set !== defaultSet() && html`<span class="quiet">in ${c.set}</span>`}</p>
    <table class="diff"><caption class="hidden">Fields of ${c.entity} ${c.id}</caption><tbody>
      ${names.map((k) => html`<tr key=${k}><th scope="row">${k}</th>
        ${c.action !== "create" && html`<td class="was"><del>${short(own(c.before, k), 200) || "∅"}</del></td>`}
        ${c.action !== "delete" && html`<td class="is"><ins>${short(own(c.after, k), 200) || "∅"}</ins></td>`}</tr>`)}
    </tbody></table>
  </li>`;
}

const page = 50;

// Changes is a diff of rows. done says that they are in the data.
export function Changes({ changes, done }) {
  const shown = useSignal(page);
  if (!changes?.length) return html`<p class="quiet">No rows change.</p>`;
  return html`<ul class="changes">${changes.slice(0, shown.value).map((c, i) => html`<${Change} key=${i} change=${c} done=${done} />`)}</ul>
    ${changes.length > shown.value && html`<button onClick=${() => (shown.value += 200)}>Show more of ${changes.length - shown.value}</button>`}`;
}

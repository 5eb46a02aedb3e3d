import { html, useSignal } from "../html.js";
import { entity } from "../session.js";
import { url } from "../router.js";
import { Pick, titleOf } from "./pick.js";

// Related shows the rows at the other end of a relationship. write, where the caller may, links rows and
// unlinks them: {$add: [id]}, {$remove: [id]}.
export function Related({ r, value, known, set, write, busy }) {
  const target = entity(r.target), key = target?.key || "id", typed = useSignal(undefined);
  const rows = !value ? [] : Array.isArray(value) ? value : value.items || [value];
  const at = (row) => url("/entities/" + r.target + "/" + encodeURIComponent(row[key]), { set });
  const add = async (ev) => {
    ev.preventDefault();
    if (await write({ $add: [typed.value] })) typed.value = undefined;
  };
  return html`<section><h3>${r.name} <span class="quiet">${r.target}</span></h3>
    ${!known ? html`<p class="quiet">…</p>` : !rows.length ? html`<p class="quiet">none</p>` : html`<ul class="plain">${rows.slice(0, 20).map((row) => html`<li key=${row[key]}>${target ? html`<a href=${at(row)}>${titleOf(row, target)}</a>` : titleOf(row)}
      ${write && html`<button type="button" class="plain" disabled=${busy} aria-label=${`Remove ${titleOf(row, target)} from ${r.name}`} onClick=${() => write({ $remove: [row[key]] })}>×</button>`}</li>`)}</ul>`}
    ${rows.length > 20 && html`<p class="quiet">and ${rows.length - 20} more</p>`}
    ${write && html`<form class="row" aria-label=${"Add to " + r.name} onSubmit=${add}><${Pick} id=${"add-" + r.name} aria-label=${`${r.target} to add to ${r.name}`} target=${r.target} set=${set} value=${typed.value} change=${(v) => (typed.value = v)} required />
      <button disabled=${busy}>Add</button></form>`}</section>`;
}

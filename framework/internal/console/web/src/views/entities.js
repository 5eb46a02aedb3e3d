import { html } from "../html.js";
import { entities, may } from "../session.js";
import { Empty } from "../parts/empty.js";

export function Entities() {
  const list = entities.value;
  if (!list.length) return html`<${Empty} whole title="No entities" help="You may see none, or the app has none. An ent schema with the annotation expose.Entity is one." />`;
  return html`<h1>Entities</h1><ul class="cards">${list.map((e) => html`<li key=${e.name} class="card">
    <h2><a href=${"/console/entities/" + e.name}>${e.name}</a></h2>
    <p>${e.description || ""}</p>
    <p class="quiet">${e.fields.length} fields${e.relationships.length ? ", related to " + [...new Set(e.relationships.map((r) => r.target))].join(", ") : ""}${may(e, "create", "upsert", "patch", "delete") ? "" : ", read-only"}</p></li>`)}</ul>`;
}

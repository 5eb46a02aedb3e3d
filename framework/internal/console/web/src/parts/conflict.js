import { html } from "../html.js";
import { has, own } from "./own.js";
import { short } from "./value.js";

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);
const shown = (v) => short(v, 2000) || html`<span class="quiet">empty</span>`;

// Conflict shows a row as somebody else has left it beside what was typed here, which stays in the form
// until it is saved or given up.
export function Conflict({ fields, read, now, mine, save, drop }) {
  const names = fields.map((f) => f.name).filter((n) => has(mine, n) || !same(own(read, n), own(now, n)));
  return html`
    ${names.length > 0 && html`<table class="both"><thead><tr><th scope="col">Field</th><th scope="col">Now</th><th scope="col">Yours</th></tr></thead>
      <tbody>${names.map((n) => html`<tr key=${n}><th scope="row">${n}</th><td>${shown(own(now, n))}</td><td>${has(mine, n) ? shown(own(mine, n)) : html`<span class="quiet">not changed</span>`}</td></tr>`)}</tbody></table>`}
    <div class="row">${Object.keys(mine).length > 0 && html`<button type="button" onClick=${save}>Save my changes over it</button>`}<button type="button" onClick=${drop}>Take theirs</button></div>`;
}

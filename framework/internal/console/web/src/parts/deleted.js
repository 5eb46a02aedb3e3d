import { html } from "../html.js";
import { url } from "../router.js";

// Deleted is what can be done about a row that somebody else has deleted while it was edited here. What was
// typed stays in the form: the runs open beside it.
export function Deleted({ again, busy, list }) {
  return html`<div class="row">${again && html`<button type="button" disabled=${busy} onClick=${again}>Create it again</button>`}
    <a class="button" href=${url("/runs", { changed: "true" })} target="_blank">Find the run that deleted it</a><a class="button" href=${list}>Leave it deleted</a></div>`;
}

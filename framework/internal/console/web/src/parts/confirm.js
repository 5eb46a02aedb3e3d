import { html, useEffect, useRef } from "../html.js";

// Confirm asks before something that cannot be taken back easily.
export function Confirm({ open, title, children, yes, danger, close }) {
  const dialog = useRef();
  useEffect(() => {
    if (open && !dialog.current.open) dialog.current.showModal();
    if (!open && dialog.current.open) dialog.current.close();
  });
  return html`<dialog ref=${dialog} class="confirm" aria-label=${title} onClose=${() => close(false)}>
    ${open && html`<h2>${title}</h2><div class="body">${children}</div>
    <div class="row end"><button onClick=${() => close(false)}>Cancel</button><button class=${danger ? "danger" : "primary"} onClick=${() => close(true)}>${yes}</button></div>`}
  </dialog>`;
}

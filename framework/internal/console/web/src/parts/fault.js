import { html } from "../html.js";
import { Fault } from "../api.js";

// FaultText is a fault with its hint, its places, and the next step where the page knows one.
export function FaultText({ fault, children }) {
  if (!fault) return null;
  if (!(fault instanceof Fault)) {
    console.error(fault);
    fault = { code: "internal", message: "The page itself failed: " + fault.message, hint: "Reload it. If that does not help, report it." };
  }
  const places = Array.isArray(fault.details) ? fault.details : [];
  const plan = fault.details && !Array.isArray(fault.details) && fault.details.planId;
  return html`<section class=${"fault" + (fault.code === "approval_required" ? " waits" : "")} role="alert">
    <p><strong>${fault.message}</strong>${fault.line ? html` <span class="quiet">line ${fault.line}${fault.column ? ", column " + fault.column : ""}</span>` : ""}</p>
    ${fault.hint && html`<p>${fault.hint}</p>`}
    ${places.length > 1 && html`<ul>${places.slice(0, 20).map((d) => html`<li><code>${d.path}</code> ${d.message}</li>`)}</ul>`}
    ${plan && html`<p><a class="button" href=${"/console/plans/" + plan}>Open the plan</a></p>`}
    ${children}
    <p class="quiet"><code>${fault.code}</code>${fault.path && html` at <code>${fault.path}</code>`}</p>
  </section>`;
}

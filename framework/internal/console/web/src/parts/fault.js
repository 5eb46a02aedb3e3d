import { html, useEffect, useRef } from "../html.js";
import { Fault } from "../api.js";

// FaultText is a fault with its hint, its places, and the next step where the page knows one. seek brings it
// into sight: of what a person did, who may be looking elsewhere on a long page.
export function FaultText({ fault, seek, children }) {
  const place = useRef();
  useEffect(() => void (seek && fault && place.current?.scrollIntoView({ block: "nearest" })), [fault]);
  if (!fault) return null;
  if (!(fault instanceof Fault)) {
    console.error(fault);
    fault = { code: "internal", message: "The page itself failed: " + fault.message, hint: "Reload it. If that does not help, report it." };
  }
  const places = Array.isArray(fault.details) ? fault.details : [];
  const plan = fault.details && !Array.isArray(fault.details) && fault.details.planId;
  return html`<section class=${"fault" + (fault.code === "approval_required" ? " waits" : "")} role="alert" ref=${place}>
    <p><strong>${fault.message}</strong>${fault.line ? html` <span class="quiet">line ${fault.line}${fault.column ? ", column " + fault.column : ""}</span>` : ""}</p>
    ${fault.hint && html`<p>${fault.hint}</p>`}
    ${places.length > 1 && html`<ul>${places.slice(0, 20).map((d) => html`<li><code>${d.path}</code> ${d.message}</li>`)}</ul>`}
    ${plan && html`<p><a class="button" href=${"/console/plans/" + plan}>Open the plan</a></p>`}
    ${children}
    <p class="quiet"><code>${fault.code}</code>${fault.path && html` at <code>${fault.path}</code>`}</p>
  </section>`;
}

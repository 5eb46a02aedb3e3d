import { html } from "../html.js";
import { defaultSet } from "../session.js";
import { ms } from "./value.js";

// place gives calls a start where they have none: one after the other.
function place(calls) {
  let at = 0;
  return calls.map((c) => {
    const start = c.startedMs ?? at;
    at = start + (c.durationMs || 0);
    return { ...c, start };
  });
}

const failed = (c) => c.ok === false || (c.outcome !== undefined && c.outcome !== "ok");

// Calls is a waterfall: what was called, when, and for how long.
export function Calls({ calls }) {
  if (!calls?.length) return html`<p class="quiet">It made no calls.</p>`;
  const placed = place(calls).sort((a, b) => a.start - b.start);
  const end = Math.max(...placed.map((c) => c.start + (c.durationMs || 0)), 0.001);
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Calls"><table class="calls"><caption class="hidden">Calls in the order in which they began</caption>
    <thead><tr><th scope="col">#</th><th scope="col">call</th><th scope="col">time</th><th scope="col" class="span">from 0 to ${ms(end)}</th></tr></thead>
    <tbody>${placed.map((c, i) => html`<tr key=${i} class=${failed(c) ? "bad" : ""}>
      <td class="quiet">${c.position || i + 1}</td>
      <td><code>${c.tool || c.toolName}</code>${c.set && c.set !== defaultSet() ? html` <span class="quiet">${c.set}</span>` : ""}${failed(c) ? html` <span class="badge bad">${c.outcome || c.error?.code || "failed"}</span>` : ""}${c.outside ? html` <span class="badge warn">outside</span>` : ""}</td>
      <td class="number">${ms(c.durationMs)}</td>
      <td class="span"><svg viewBox="0 0 100 4" preserveAspectRatio="none" aria-hidden="true"><rect x=${(c.start / end) * 100} width=${Math.max(((c.durationMs || 0) / end) * 100, 0.6)} y="0" height="4" rx="0.4" /></svg></td>
    </tr>`)}</tbody></table></div>`;
}

import { html, useEffect, useSignal } from "../html.js";
import { get, post } from "../api.js";
import { scope } from "../session.js";
import { go } from "../router.js";
import { useAgain, useLive, useLatest } from "../live.js";
import { notify } from "../notice.js";
import { countPlans } from "../waiting.js";
import { Empty } from "../parts/empty.js";
import { FaultText } from "../parts/fault.js";
import { Changes } from "../parts/changes.js";
import { Code } from "../parts/code.js";
import { Confirm } from "../parts/confirm.js";
import { JSONText, Time } from "../parts/value.js";

const states = { waiting: "waits for somebody", approved: "is approved and being applied", applied: "was applied", denied: "was denied", replaced: "was replaced by another plan" };
// What destroys comes first.
const order = { delete: 0, update: 1, create: 2 };

export function Plan({ args: [id] }) {
  const plan = useSignal(null), fault = useSignal(null), missing = useSignal(false), busy = useSignal(false), denying = useSignal(false);
  const fresh = useLatest(id);
  const load = async () => {
    const current = fresh();
    try {
      const p = await get("/api/console/plans/" + encodeURIComponent(id));
      if (current()) [plan.value, missing.value] = [p, false];
    } catch (f) {
      if (!current()) return;
      if (f.code === "not_found") missing.value = true;
      else fault.value = f;
    }
  };
  useEffect(() => void load(), [id]);
  useAgain(() => ((fault.value = null), load()));
  // Somebody else may decide about it, and it expires.
  useLive(() => !busy.value && !missing.value && ["waiting", "approved"].includes(plan.value?.state) && load(), [id]);
  const decide = async (what) => {
    busy.value = true;
    fault.value = null;
    try {
      const reply = await post(`/api/console/plans/${encodeURIComponent(id)}/${what}`);
      notify(what === "approve" ? "Approved and committed." : "Denied. Nothing has changed.");
      if (what === "approve") go("/console/runs/" + reply.runId);
    } catch (f) {
      fault.value = f;
    }
    await load();
    countPlans();
    busy.value = false;
  };
  if (missing.value && !plan.value) return html`<${Empty} whole title="This plan does not exist" help="It has expired and is no longer kept, or you may not see it. A plan that expired has changed nothing: make the call again for a new one."><a class="button" href="/console/plans">All plans</a><//>`;
  if (!plan.value) return html`<${FaultText} fault=${fault.value} />`;
  const p = plan.value, changes = [...p.changes].sort((a, b) => order[a.action] - order[b.action]);
  const waits = p.state === "waiting" && !missing.value, open = waits && scope("koan:approve");
  return html`<p class="crumbs"><a href="/console/plans">Plans</a></p>
    <h1>${p.summary[0]?.toUpperCase() + p.summary.slice(1)}</h1>
    <p><code>${p.tool}</code> for <strong>${p.subject}</strong> ${missing.value ? "is no longer kept" : states[p.state]}${p.decidedBy ? " by " + p.decidedBy : ""}. <span class="quiet">Made <${Time} at=${p.created} />${waits ? html`, expires <${Time} at=${p.expires} />` : ""}.</span></p>
    ${missing.value && html`<section class="panel warn" role="status"><p><strong>This plan has expired, or was decided and is no longer kept.</strong> Nobody can decide about it any more. If it has expired, nothing was changed: make the call again for a new plan.</p></section>`}
    ${p.replacedBy && html`<p><a class="button" href=${"/console/plans/" + p.replacedBy}>Open the plan that replaced it</a></p>`}
    ${p.state === "applied" && html`<p><a class="button" href=${"/console/runs/" + p.runId}>Open its run</a></p>`}
    ${p.differs?.length > 0 && html`<section class="panel warn"><p><strong>Different from the plan that was approved before:</strong></p><ul>${p.differs.map((d) => html`<li>${d}</li>`)}</ul></section>`}
    ${p.call && html`<section class="panel bad" aria-label="Call outside"><h2>Calls <code>${p.call.tool}</code></h2><p>${p.call.inside ? "A rule asks for approval of this call." : "It has an effect outside that cannot be undone."}</p><${JSONText} value=${p.call.input} label="Input of the call" />
      ${p.call.carries?.map((c) => html`<p>Its input has text of <strong>${c.source}</strong>, which nobody vouches for: <q>${c.text}</q></p>`)}</section>`}
    <section aria-label="Changes"><h2>${p.call ? "Changed so far, not committed yet" : "What it changes"}</h2>${p.sample && html`<p><strong>A sample of ${changes.length} of ${p.changeCounts.reduce((n, c) => n + c.created + c.updated + c.deleted, 0)} rows.</strong> Approving is for all of them. They are made and compared again when the plan is applied, and if one differs, nothing is committed.</p>`}<${Changes} changes=${changes} /></section>
    ${p.code && html`<details><summary>The script</summary><${Code} text=${p.code} language=${p.language} label="Script of the plan" /></details>`}
    <details><summary>As a text</summary><pre class="json" tabindex="0" role="region" aria-label="The plan as a text">${p.text}</pre></details>
    <${FaultText} fault=${missing.value ? null : fault.value} seek />
    ${open && html`<div class="decide" role="group" aria-label="Decision"><button class="danger" disabled=${busy.value} onClick=${() => (denying.value = true)}>Deny</button><button class="primary" disabled=${busy.value} onClick=${() => decide("approve")}>Approve</button></div>`}
    ${waits && !open && html`<p class="quiet">You may see this plan, and not decide about it: that takes the scope <code>koan:approve</code>.</p>`}
    <${Confirm} open=${denying.value} title="Deny this plan?" yes="Deny" danger close=${(yes) => { denying.value = false; if (yes) decide("deny"); }}><p>A denial is final. Nothing is changed, and whoever made the run is told.</p><//>`;
}

import { html, useEffect, useSignal } from "../html.js";
import { get } from "../api.js";
import { scope } from "../session.js";
import { waiting } from "../waiting.js";
import { useLive, useLatest } from "../live.js";
import { Empty } from "../parts/empty.js";
import { FaultText } from "../parts/fault.js";
import { Time } from "../parts/value.js";

export function Plans() {
  const plans = useSignal(null), fault = useSignal(null);
  const fresh = useLatest();
  const load = async () => {
    const current = fresh();
    try {
      const found = (await get("/api/console/plans")).plans;
      if (!current()) return;
      plans.value = found;
      waiting.value = plans.value.length;
      fault.value = null;
    } catch (f) {
      if (current()) fault.value = f;
    }
  };
  const mayDecide = scope("koan:approve");
  useEffect(() => void (mayDecide && load()), []);
  useLive(() => mayDecide && load());
  if (!mayDecide) return html`<${Empty} whole title="You may not approve plans" help="That takes the scope koan:approve, by its name: give it to a person's token, never to an agent's. A plan of your own can be opened by its id." />`;
  return html`<h1>Plans</h1><p class="quiet">Runs that were rolled back and wait until somebody approves what they change.</p>
    <${FaultText} fault=${fault.value} />
    ${plans.value && !plans.value.length && html`<${Empty} title="Nothing waits" help="With approval.mode: destructive, a run that deletes something is held here until a person has seen it. approval.mode: never asks nobody." />`}
    <ul class="cards">${plans.value?.map((p) => html`<li key=${p.id} class="card"><h2><a href=${"/console/plans/" + p.id}>${p.summary}</a></h2>
      <p><code>${p.tool}</code> for ${p.subject}</p><p class="quiet">made <${Time} at=${p.created} />, expires <${Time} at=${p.expires} /></p></li>`)}</ul>`;
}

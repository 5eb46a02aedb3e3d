import { html, useEffect, useSignal } from "../html.js";
import { get } from "../api.js";
import { operator } from "../session.js";
import { route, narrow } from "../router.js";
import { useLive, useLatest } from "../live.js";
import { Empty } from "../parts/empty.js";
import { FaultText } from "../parts/fault.js";
import { Outcome, Counts, Time, ms } from "../parts/value.js";

const firstLine = (code) => (code || "").split("\n").map((l) => l.trim()).find((l) => l && !l.startsWith("//") && !l.startsWith("/*")) || (code || "").split("\n")[0];

export function Runs() {
  const q = route.value.query, page = useSignal(null), fault = useSignal(null), more = useSignal(false);
  const query = new URLSearchParams(["outcome", "changed", "q", "reads"].map((k) => [k, q.get(k) || (k === "reads" ? "false" : "")]).filter(([, v]) => v)).toString();
  const narrowed = ["outcome", "changed", "q"].some((k) => q.get(k));
  const newest = useLatest(query), earlier = useLatest(query);
  const load = async (before) => {
    const current = before ? earlier() : newest();
    try {
      const next = await get("/api/console/runs?" + query + (before ? "&before=" + before : ""));
      if (!current()) return;
      if (before) page.value = { runs: [...page.value.runs, ...next.runs], next: next.next, grown: true };
      else if (!page.value?.grown || page.value.query !== query) page.value = { ...next, query };
      else { // only what is new on top of what was read
        const known = new Set(page.value.runs.map((r) => r.id));
        page.value = { ...page.value, runs: [...next.runs.filter((r) => !known.has(r.id)), ...page.value.runs] };
      }
      fault.value = null;
    } catch (f) {
      if (current()) fault.value = f;
    }
  };
  useEffect(() => { page.value = null; load(); }, [query]);
  useLive(() => load(), [query]);
  const runs = page.value?.runs || [];
  return html`<h1>Runs</h1>
    <p class="quiet">${operator.value ? "Scripts and calls of tools" : "Your scripts and calls of tools"}: what they called, what they changed, how they ended.</p>
    <div class="row filters">
      <label class="inline">Ended <select onChange=${(e) => narrow({ outcome: e.target.value })}>${[["", "in any way"], ["ok", "well"], ["!ok", "in a fault"], ["approval_required", "waiting for approval"]].map(([v, n]) => html`<option key=${v} value=${v} selected=${v === (q.get("outcome") || "")}>${n}</option>`)}</select></label>
      <label class="inline"><input type="checkbox" checked=${q.get("changed") === "true"} onChange=${(e) => narrow({ changed: e.target.checked ? "true" : "" })} /> changed data</label>
      <label class="inline"><input type="checkbox" checked=${q.get("reads") === "true"} onChange=${(e) => narrow({ reads: e.target.checked ? "true" : "" })} /> calls that only read</label>
      <input type="search" aria-label="Search runs" placeholder="Tool, script or message" value=${q.get("q") || ""} onChange=${(e) => narrow({ q: e.target.value })} />
    </div>
    <${FaultText} fault=${fault.value} />
    ${page.value && !runs.length && !page.value.next && html`<${Empty} title=${narrowed ? "No run fits" : "No runs yet"} help=${narrowed ? "Remove a filter to see more." : "Runs of agents, of the command line and of this console come here as they end."}>${!narrowed && html`<a class="button" href="/console">Run a script</a>`}<//>`}
    ${runs.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label="Runs"><table class="grid runs">
      <thead><tr><th scope="col">when</th><th scope="col">outcome</th><th scope="col">what</th><th scope="col">changes</th><th scope="col">calls</th><th scope="col">took</th><th scope="col">who</th></tr></thead>
      <tbody>${runs.map((r) => html`<tr key=${r.id}><td><a href=${"/console/runs/" + r.id}><${Time} at=${r.started} /></a></td><td><${Outcome} run=${r} /></td>
        <td class="what"><code>${r.tool}</code>${r.code ? html` <span class="quiet">${firstLine(r.code)}</span>` : r.message ? html` <span class="quiet">${r.message}</span>` : ""}</td>
        <td class="nowrap"><${Counts} of=${r} /></td><td class="number">${r.callCount}</td><td class="number nowrap">${ms(r.durationMs)}</td><td class="nowrap">${r.subject} <span class="quiet">${r.surface}</span></td></tr>`)}</tbody></table></div>`}
    ${page.value?.next && html`<p><button disabled=${more.value} onClick=${async () => { more.value = true; await load(page.value.next); more.value = false; }}>Earlier runs</button></p>`}`;
}

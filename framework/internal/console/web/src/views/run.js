import { html, useEffect, useSignal } from "../html.js";
import { get, post, tool } from "../api.js";
import { defaultSet, overview } from "../session.js";
import { notify } from "../notice.js";
import { useAgain } from "../live.js";
import { url } from "../router.js";
import { FaultText } from "../parts/fault.js";
import { Calls } from "../parts/calls.js";
import { Changes, invert, isSeen } from "../parts/changes.js";
import { Code } from "../parts/code.js";
import { Confirm } from "../parts/confirm.js";
import { Empty } from "../parts/empty.js";
import { Outcome, Counts, Time, ms, JSONText } from "../parts/value.js";

const facts = (r) => [
  ["Tool", html`<code>${r.tool}</code>`], ["Who", `${r.subject} by ${r.surface}`], ["Began", html`<${Time} at=${r.started} />`], ["Took", ms(r.durationMs)], ["Set", r.set || defaultSet()],
  ["Attempts", r.attempts], ["Committed", r.committed ? "yes" : "no"], r.approval !== "none" && ["Approval", html`${r.approval}${r.approvedBy ? " by " + r.approvedBy : ""}${r.planId ? html` <a href=${"/console/plans/" + r.planId}>plan</a>` : ""}`],
  r.correlationId && ["Correlation", r.correlationId], r.repeatOf && ["Repeats", html`<a href=${"/console/runs/" + r.repeatOf}>an earlier run</a>`],
].filter(Boolean);


export function Run({ args: [id] }) {
  const run = useSignal(null), fault = useSignal(null), missing = useSignal(false);
  const undone = useSignal(null), asking = useSignal(false), replayed = useSignal(null), busy = useSignal("");
  const load = () => {
    fault.value = null;
    get("/api/console/runs/" + encodeURIComponent(id)).then((r) => {
      run.value = r;
      if (r.committed && r.created + r.updated + r.deleted > 0) look();
    }, (f) => (f.code === "not_found" ? (missing.value = true) : (fault.value = f)));
  };
  useEffect(load, [id]);
  useAgain(load);

  // look has an undo tried as a dry run: what it would change back is what the run changed. rest leaves out
  // what was changed again since.
  const look = async (rest) => {
    const how = rest ? { onConflict: "skip" } : {};
    try {
      undone.value = { ...(await tool("koan.code.undo", { runId: id, dryRun: true, ...how })), how };
    } catch (f) {
      undone.value = { error: f, result: {}, how };
    }
  };
  const work = (what, fn) => async () => {
    busy.value = what;
    fault.value = null;
    try {
      await fn();
    } catch (f) {
      fault.value = f;
    }
    busy.value = "";
  };
  const undo = async (yes) => {
    asking.value = false;
    if (!yes) return;
    await work("undo", async () => {
      const reply = await tool("koan.code.undo", { runId: id, ...undone.value.how });
      if (reply.error) fault.value = reply.error;
      else {
        notify("The run was undone.");
        undone.value = { ...undone.value, by: reply.result.runId };
      }
    })();
  };
  const replay = (data) => work("replay", async () => (replayed.value = await post(`/api/console/runs/${encodeURIComponent(id)}/replay`, { data })));

  if (missing.value) return html`<${Empty} whole title="This run is not kept" help="It is not yours, it is too old, or it has not ended yet."><a class="button" href="/console/runs">All runs</a><//>`;
  if (!run.value) return html`<${FaultText} fault=${fault.value} />`;
  const r = run.value, changed = r.created + r.updated + r.deleted, preview = undone.value;
  const rest = preview?.how?.onConflict, none = rest && !preview.error && !preview.result.changes?.some(isSeen);
  return html`<p class="crumbs"><a href="/console/runs">Runs</a></p>
    <div class="row"><h1>Run <code class="id">${r.id}</code></h1><${Outcome} run=${r} /><span class="grow"></span>
      ${r.committed && changed > 0 && html`<button class="danger" disabled=${busy.value || !preview || preview.by || preview.error || none} onClick=${() => (asking.value = true)}>${preview?.by ? "Undone" : rest ? "Undo the rest" : "Undo"}</button>`}
      ${r.code && html`<button disabled=${busy.value} onClick=${replay(false)}>Replay</button><button disabled=${busy.value} onClick=${replay(true)}>Replay on today's data</button>`}
      ${r.code && overview.value.codeMode && html`<a class="button" href=${url("/", { run: r.id })}>Run with other arguments</a>`}</div>
    <${FaultText} fault=${fault.value} seek />
    ${preview?.by && html`<p class="good-text" role="status">This run was undone by <a href=${"/console/runs/" + preview.by}>another run</a>, which can be undone in turn.</p>`}
    ${replayed.value && html`<${Replayed} of=${replayed.value} />`}
    ${r.message && html`<section class="fault"><p><strong>${r.message}</strong>${r.line ? html` <span class="quiet">line ${r.line}</span>` : ""}</p></section>`}
    <dl class="facts">${facts(r).map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>
    <div class=${r.code ? "split wide" : ""}>
      ${r.code && html`<section aria-label="Script"><h2>Script</h2>${r.redactions > 0 && html`<p class="quiet">${r.redactions} secrets were taken out.</p>`}<${Code} text=${r.code} language=${r.language} line=${r.line} label="Script of the run" /></section>`}
      <div><section aria-label="Calls of the run"><h2>Calls</h2><${Calls} calls=${r.calls} /></section>
      <section aria-label="Changes of the run"><h2>Changes <${Counts} of=${r} /></h2>
        ${r.dryRun && html`<p class="quiet">It was a dry run: nothing was kept.</p>`}
        ${!r.dryRun && !r.committed && changed > 0 && html`<p class="quiet">Nothing of it was kept.</p>`}
        ${r.changes?.length > 0 && (!r.committed || preview?.error) && html`<ul class="plain">${r.changes.map((c) => html`<li>${c.entity || "rows that you may not see"} ${c.set !== defaultSet() ? html`<span class="quiet">${c.set}</span>` : ""} <${Counts} of=${c} /></li>`)}</ul>`}
        ${preview?.error?.code === "conflict" ? html`<${Again} fault=${preview.error} rest=${!rest && work("look", () => look(true))} busy=${busy.value} />` : html`<${FaultText} fault=${preview?.error} />`}
        ${none && html`<p role="status">Nothing of it is left to undo that you may read: all that it changed was changed again, or undone.</p>`}
        ${rest && !none && preview.result.changes && html`<p role="status">Of its changes these can still be undone:</p>`}
        ${!none && preview?.result?.changes && html`<${Changes} changes=${invert(preview.result.changes, r.changes || [])} done=${true} />`}
      </section></div>
    </div>
    <${Confirm} open=${asking.value} title="Undo this run?" yes="Undo" danger close=${undo}>
      <p>${rest ? "What was not changed again since is restored" : "What it changed is restored"}, as one run that can be undone in turn.</p><${Changes} changes=${preview?.result?.changes} />
      ${preview?.result?.result?.notUndone?.length > 0 && html`<p>This is not undone:</p><${JSONText} value=${preview.result.result.notUndone} />`}<//>`;
}

// Again says why a run cannot be undone whose rows were changed again. rest looks for what is left to undo.
const Again = ({ fault, rest, busy }) => html`<section class="panel warn" role="status">
  <p><strong>This run cannot be undone as a whole.</strong> What it changed was changed again since: by somebody else, by another run, or because this run was undone already.</p>
  <details><summary>Where</summary><${FaultText} fault=${fault} /></details>
  ${rest && html`<div><button disabled=${busy} onClick=${rest}>See what can still be undone</button></div>`}</section>`;

function Replayed({ of: r }) {
  const d = r.difference;
  return html`<section class=${"panel " + (r.identical ? "good" : "warn")} role="status"><p><strong>${r.identical ? `The replay is identical, ${r.calls} ${r.calls === 1 ? "call" : "calls"} compared.` : "The replay differs."}</strong> Nothing was changed.</p>
    ${d && html`<p>In ${d.in}${d.call ? ` ${d.call}` : ""}${d.operation ? html` <code>${d.operation}</code>` : ""}${d.line ? `, line ${d.line}` : ""}</p>
      <table class="diff"><caption class="hidden">The first difference</caption><tbody><tr><th scope="row">recorded</th><td class="was"><del>${d.recorded}</del></td></tr><tr><th scope="row">now</th><td class="is"><ins>${d.now}</ins></td></tr></tbody></table>`}
    ${r.notes?.map((n) => html`<p class="quiet">${n}</p>`)}</section>`;
}

import { html, useEffect, useSignal } from "../html.js";
import { get } from "../api.js";
import { overview, operator } from "../session.js";
import { useLive } from "../live.js";
import { FaultText } from "../parts/fault.js";
import { ms } from "../parts/value.js";

const shown = (l) => (l.unit === "ms" ? ms(l.value) : l.unit === "bytes" && l.value >= 1024 ? (l.value >= 1 << 20 ? l.value / (1 << 20) + " MiB" : l.value / 1024 + " KiB") : l.value + (l.unit ? " " + l.unit : ""));

export function Status() {
  const status = useSignal(null), fault = useSignal(null), checks = useSignal(null), busy = useSignal(false);
  const load = async () => {
    try {
      status.value = (await get("/status")).result.status;
      fault.value = null;
    } catch (f) {
      fault.value = f;
    }
  };
  const check = async () => {
    busy.value = true;
    try {
      checks.value = await get("/api/console/checks");
    } catch (f) {
      fault.value = f;
    }
    busy.value = false;
  };
  useEffect(() => { load(); if (operator.value) check(); }, []);
  useLive(load);
  const s = status.value, o = overview.value;
  return html`<h1>Status</h1><${FaultText} fault=${fault.value} />
    ${s && html`<section class=${"panel " + (s.ready ? "good" : "bad")}><p><strong>${o.app} ${o.version} ${s.ready ? "serves calls." : "cannot serve calls now."}</strong></p>${s.missing.map((f) => html`<${FaultText} fault=${f} />`)}</section>
      <dl class="facts">${[["Up", ms(s.uptimeMs)], ["Mode", s.mode], ["Entities", s.entities], ["Tools", s.tools], ["Runtime", s.codeMode?.runtime || "none"], ["Your calls", `${s.calls.running} of ${s.calls.max}`], ["You are", o.caller.subject], ["Your scopes", o.caller.scopes.join(", ") || "none"], ["Your sets", o.caller.sets.join(", ") || "none"]].map(([k, v]) => html`<div key=${k}><dt>${k}</dt><dd>${v}</dd></div>`)}</dl>`}
    ${!operator.value && html`<p class="quiet">Checks and limits are for callers with the scope <code>koan:journal</code>.</p>`}
    ${operator.value && html`<section aria-busy=${busy.value}><div class="row"><h2>Checks</h2><button disabled=${busy.value} onClick=${check}>${busy.value ? "Checking…" : "Check again"}</button></div>
      <ul class="checks">${checks.value?.checks.map((c) => html`<li key=${c.name}><span class=${"badge " + (c.ok ? "good" : "bad")}>${c.ok ? "ok" : "fails"}</span> <strong>${c.name}</strong> <span>${c.detail}</span>${c.hint && html`<p class="quiet">${c.hint}</p>`}</li>`)}</ul></section>
      ${checks.value && html`<section><h2>Limits</h2><div class="scroll" tabindex="0" role="region" aria-label="Limits"><table class="grid"><thead><tr><th scope="col">key</th><th scope="col">value</th><th scope="col">what it bounds</th></tr></thead>
        <tbody>${checks.value.limits.map((l) => html`<tr key=${l.key}><td><code>${l.key}</code></td><td class="number nowrap">${shown(l)}</td><td>${l.help}</td></tr>`)}</tbody></table></div></section>`}`}`;
}

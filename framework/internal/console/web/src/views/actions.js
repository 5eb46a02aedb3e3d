import { html, useSignal } from "../html.js";
import { request } from "../api.js";
import { overview } from "../session.js";
import { useAgain } from "../live.js";
import { Empty } from "../parts/empty.js";
import { FaultText } from "../parts/fault.js";
import { Form, places } from "../parts/form.js";
import { JSONText } from "../parts/value.js";

const Effects = ({ of }) => html`${of.readOnly && html`<span class="badge good">reads only</span>`}${of.destructive && !of.readOnly && html`<span class="badge bad">destructive</span>`}${of.outside && html`<span class="badge warn">acts outside</span>`}`;

export function Actions() {
  const { actions, plugins } = overview.value;
  if (!actions.length && !plugins.length) {
    return html`<${Empty} whole title="No actions yet" help="An action is a named, typed piece of work: a script in actions/NAME.ts, or a Go function. One can be made of a run that went well."><p><code>${overview.value.app} action add NAME --run RUN</code></p><//>`;
  }
  const list = (title, of) => of.length > 0 && html`<section>${title && html`<h2>${title}</h2>`}<ul class="cards">${of.map((a) => html`<li key=${a.id} class="card"><h2><a href=${"/console/actions/" + a.id}>${a.title}</a></h2><p>${a.summary}</p><p><code>${a.id}</code> <${Effects} of=${a.effects} /></p></li>`)}</ul></section>`;
  return html`<h1>Actions</h1>${list("", actions)}${list("Functions of plugins", plugins)}`;
}

export function Action({ args: [id] }) {
  const a = [...overview.value.actions, ...overview.value.plugins].find((one) => one.id === id);
  if (!a) return html`<${Empty} whole title="There is no such action" help="It does not exist, or you may not call it."><a class="button" href="/console/actions">All actions</a><//>`;
  return html`<${Call} a=${a} />`;
}

function Call({ a }) {
  const input = useSignal(a.example || {}), got = useSignal(null), fault = useSignal(null), busy = useSignal(false);
  useAgain(() => (fault.value = null));
  const call = async (e) => {
    e.preventDefault();
    busy.value = true;
    fault.value = got.value = null;
    try {
      const { body, headers } = await request("POST", a.path, { body: input.value });
      got.value = { body, run: headers.get("Koan-Run") };
    } catch (f) {
      fault.value = f;
    }
    busy.value = false;
  };
  return html`<p class="crumbs"><a href="/console/actions">Actions</a></p><h1>${a.title}</h1><p>${a.summary}</p><p><code>${a.id}</code> <${Effects} of=${a.effects} /></p>
    <div class="split"><form onSubmit=${call} aria-label="Input"><${Form} schema=${a.input} value=${input} wrong=${places(fault.value)} />
      <div class="row"><button class=${a.effects.destructive ? "danger" : "primary"} disabled=${busy.value}>${busy.value ? "Running…" : "Run"}</button>${a.example && html`<button type="button" onClick=${() => (input.value = a.example)}>Use the example</button>`}</div></form>
      <section aria-label="Result" aria-live="polite"><${FaultText} fault=${fault.value} seek />
        ${got.value ? html`<h2>Result</h2><${JSONText} value=${got.value.body} label="What it returned" />${got.value.run && html`<p><a href=${"/console/runs/" + got.value.run}>Open the run</a></p>`}` : !fault.value && html`<${Empty} title="Not run yet" help="What it returns is shown here, with its run." />`}</section></div>`;
}

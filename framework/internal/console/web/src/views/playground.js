import { html, useEffect, useRef, useSignal } from "../html.js";
import { tool, get, upload, Fault } from "../api.js";
import { defaultSet, overview, entities } from "../session.js";
import { route, url, go } from "../router.js";
import { useAgain } from "../live.js";
import { recall, remember } from "../store.js";
import { notify } from "../notice.js";
import { examples, first } from "../examples.js";
import { warm } from "../types.js";
import { FaultText } from "../parts/fault.js";
import { Changes } from "../parts/changes.js";
import { Calls } from "../parts/calls.js";
import { JSONText, ms } from "../parts/value.js";
import { Empty } from "../parts/empty.js";

const encode = (text) => btoa(String.fromCharCode(...new TextEncoder().encode(text))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=+$/, "");
function decode(text) {
  try {
    return new TextDecoder().decode(Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0)));
  } catch {
    return null;
  }
}

// titles are the languages that a script may be in, as a person reads them. TypeScript is the same as JavaScript here.
const titles = { javascript: "JavaScript", python: "Python", node: "Node" };
const spoken = () => overview.value.languages.filter((l) => titles[l]);

// kept is where the page remembers the script of a language that was not run yet.
const kept = (language) => (language === "javascript" ? "draft" : "draft-" + language);

// ours takes the script that the address brought along out of it: from the first change it is another one, and
// a reload is to show that.
const ours = () => (route.value.hash || route.value.query.get("run")) && go(url("/"), { replace: true });

// given is the script that the address brings along and its language, null for none.
function given() {
  const [, name, text] = route.value.hash.match(/^#(\w+)=(.*)$/) || [];
  const language = name === "script" ? "javascript" : name, code = text === undefined ? null : decode(text);
  return code === null || !titles[language] ? null : { code, language };
}

export function Playground() {
  if (!overview.value.codeMode) {
    return html`<${Empty} whole title="Scripts are off" help=${`This server offers no code mode to you: its mode is “${overview.value.mode}”, or codeMode.enabled is false.`}><a class="button" href="/console/entities">Look at the data</a><//>`;
  }
  return html`<${Editor} />`;
}

function Editor() {
  const place = useRef(), editor = useRef(), running = useRef();
  const languages = spoken(), begun = given();
  const language = useSignal(begun?.language ?? (languages.includes(recall("language")) ? recall("language") : languages[0]));
  const code = useSignal(begun?.code ?? recall(kept(language.value), first(entities.value, language.value)));
  const args = useSignal(recall("args", "")), set = useSignal("");
  const got = useSignal(null), fault = useSignal(null), busy = useSignal(""), progress = useSignal(null), ready = useSignal(false), tab = useSignal("answer");
  const { hash } = route.value, from = route.value.query.get("run");

  useAgain(() => (fault.value = null));
  const start = async (dryRun) => {
    if (running.current) return;
    let input = { code: code.value, language: language.value, dryRun, include: ["changes", "calls"] };
    fault.value = null;
    try {
      if (args.value.trim()) input.args = JSON.parse(args.value);
    } catch (e) {
      fault.value = new Fault(0, { code: "invalid_payload", message: "The arguments are not JSON: " + e.message, hint: "Write JSON, or leave them empty." });
      return;
    }
    if (set.value.trim()) input.set = set.value.trim();
    const stop = (running.current = new AbortController());
    busy.value = dryRun ? "dry" : "run";
    progress.value = null;
    try {
      const reply = await tool("koan.code.execute", input, { signal: stop.signal, progress: (p) => (progress.value = p) });
      got.value = { ...reply, dryRun };
      fault.value = reply.error;
      if (reply.error) editor.current?.mark(reply.error);
      tab.value = reply.error ? tab.value : dryRun || reply.result.changes?.length ? (reply.result.changes?.length ? "changes" : "answer") : "answer";
      await timed(got);
    } catch (e) {
      fault.value = e.name === "AbortError" ? new Fault(0, { code: "cancelled", message: "The run was stopped, and nothing of it is kept." }) : e;
    }
    busy.value = "";
    running.current = null;
  };

  // show puts a text into the editor that nobody typed.
  const show = (text, its = language.value) => {
    code.value = text;
    editor.current?.set(text);
    if (its === language.value) return;
    language.value = its;
    editor.current?.speak(its);
  };
  // speak has the next script be in another language: what was written in each is kept.
  const speak = (its) => {
    show(recall(kept(its), first(entities.value, its)), its);
    remember("language", its);
    fault.value = null;
    ours();
  };
  const use = (text) => {
    show(text);
    remember(kept(language.value), text);
    ours();
    editor.current?.focus();
  };
  const typed = (text) => {
    if (text === code.value) return;
    code.value = text;
    remember(kept(language.value), text);
    ours();
  };

  useEffect(() => {
    let gone = false;
    warm();
    import("../editor.js").then((m) => {
      if (gone || !place.current) return; // the view is being left
      const run = (dry) => () => (start(dry), true);
      editor.current = m.editor(place.current, {
        text: code.value, language: language.value, changed: typed,
        commands: [{ key: "Mod-Enter", run: run(true) }, { key: "Mod-Shift-Enter", run: run(false) }],
      });
      ready.value = true;
    });
    return () => {
      gone = true;
      running.current?.abort();
      editor.current?.destroy();
    };
  }, []);

  // The address may bring another script along, also while the page is open.
  useEffect(() => {
    if (!ready.value) return;
    if (from) load(from, show);
    else if (given() !== null) show(given().code, given().language);
  }, [ready.value, from, hash]);

  const share = async () => {
    go(url("/") + `#${language.value === "javascript" ? "script" : language.value}=` + encode(code.value), { replace: true });
    await navigator.clipboard?.writeText(location.href).then(() => notify("The address of this script is copied."), () => notify("The script is in the address of this page."));
  };
  // add uploads a file, whose id the script gets in its arguments.
  const add = async (e) => {
    const [file] = e.target.files;
    e.target.value = "";
    if (!file) return;
    fault.value = null;
    try {
      const given = args.value.trim() ? JSON.parse(args.value) : {};
      const kept = await upload(file, set.value.trim());
      args.value = JSON.stringify({ ...given, file: kept.id }, null, 2);
      remember("args", args.value);
      notify(`${kept.name || "The file"} is kept: SDK.args.file is its id.`);
    } catch (f) {
      fault.value = f instanceof Fault ? f : new Fault(0, { code: "invalid_payload", message: "The arguments are not JSON, so the file has no place in them." });
    }
  };
  const sets = [...new Set(entities.value.flatMap((e) => e.sets))];
  return html`<div class="playground">
    <h1 class="hidden">Playground</h1>
    <section class="pane" aria-label="Script">
      <div class="row toolbar">
        ${languages.length > 1 && html`<select aria-label="Language" value=${language.value} onChange=${(e) => speak(e.target.value)}>${languages.map((l) => html`<option key=${l} value=${l}>${titles[l]}</option>`)}</select>`}
        <select aria-label="Examples" onChange=${(e) => { if (e.target.value) use(examples(entities.value, overview.value, language.value)[e.target.value].code); e.target.value = ""; }}>
          <option value="">Examples</option>${examples(entities.value, overview.value, language.value).map((x, i) => html`<option key=${x.title} value=${i}>${x.title}</option>`)}</select>
        <button onClick=${share}>Copy link</button>
        <label class="button">Add a file<input type="file" class="hidden" onChange=${add} /></label>
        <span class="grow"></span>
        ${busy.value ? html`<button onClick=${() => running.current?.abort()}>Stop</button>` : html`
          <button class="primary" onClick=${() => start(true)} title="Ctrl Enter">Dry run <kbd>Ctrl ↵</kbd></button>
          <button onClick=${() => start(false)} title="Ctrl Shift Enter">Run</button>`}
      </div>
      <div class="editor" ref=${place}></div>
      <details class="options" open=${Boolean(args.value)}><summary>Arguments and set</summary><div class="fields">
        <label for="args">Arguments, as JSON: <code>SDK.args</code></label><textarea id="args" class="code" rows="3" spellcheck="false" value=${args.value} onInput=${(e) => { args.value = e.target.value; remember("args", e.target.value); }}></textarea>
        <label for="set">Set of calls that name none</label><input id="set" list="sets" placeholder=${defaultSet()} value=${set.value} onInput=${(e) => (set.value = e.target.value)} /><datalist id="sets">${sets.filter((s) => !s.includes("*")).map((s) => html`<option value=${s} />`)}</datalist></div>
      </details>
    </section>
    <section class="pane result" aria-label="Result" aria-busy=${Boolean(busy.value)}>
      <p class="row state" role="status">${stateOf(busy.value, progress.value, got.value, fault.value)}</p>
      <${FaultText} fault=${fault.value} />
      ${got.value ? html`<${Tabs} at=${tab} reply=${got.value} />` : !fault.value && html`<${Empty} title="Try before you change" help="A dry run executes the whole script and rolls it back. What it would change is shown here, row by row."><p class="quiet"><kbd>Ctrl ↵</kbd> dry run, <kbd>Ctrl Shift ↵</kbd> run, <kbd>Ctrl Space</kbd> what there is</p><//>`}
    </section>
  </div>`;
}

// load shows the script of a run.
async function load(id, show) {
  try {
    const run = await get("/api/console/runs/" + encodeURIComponent(id));
    if (route.value.query.get("run") !== id) return; // the address is another one by now
    if (!run.code) return notify("That run has no script.", "bad");
    const its = run.language === "typescript" ? "javascript" : run.language, runs = spoken().includes(its);
    show(run.code, runs ? its : undefined);
    if (!runs) notify(`This server runs no scripts in ${titles[its] || its}, which that run was in.`, "warn");
    if (run.redactions) notify("Secrets were taken out of this script: put them in again.", "warn");
  } catch (e) {
    notify(e.message, "bad");
  }
}

// timed replaces the calls by those of the journal, which knows when each began.
async function timed(got) {
  const id = got.value.meta.runId;
  if (!id || !got.value.result.calls?.length) return;
  try {
    const run = await get("/api/console/runs/" + id);
    if (got.value?.meta.runId === id && run.calls?.length === got.value.result.calls.length) got.value = { ...got.value, calls: run.calls };
  } catch {
    // an app without a journal: they are shown one after the other
  }
}

function stateOf(busy, progress, got, fault) {
  if (busy) {
    return html`<span class="spin" aria-hidden="true"></span>${busy === "dry" ? "Dry run" : "Running"}${progress?.message ? ": " + progress.message : "…"}${progress?.total ? ` (${progress.progress} of ${progress.total})` : ""}`;
  }
  if (!got) return "";
  const { metrics = {}, runId, attempts } = got.meta;
  const waits = got.error?.code === "approval_required" && !got.result.committed;
  return html`<span class=${"badge " + (got.ok ? "good" : waits ? "warn" : "bad")}>${got.ok ? (got.dryRun ? "dry run, nothing is kept" : "committed") : waits ? "waits for approval, nothing is kept yet" : got.result.committed ? "failed, and committed in part" : "failed, nothing is kept"}</span>
    <span class="quiet">${ms(metrics.wallMs)}${metrics.sdkCalls ? `, ${metrics.sdkCalls} ${metrics.sdkCalls === 1 ? "call" : "calls"}` : ""}${attempts > 1 ? ", " + attempts + " attempts" : ""}</span>
    ${runId && html`<a href=${"/console/runs/" + runId}>Open the run</a>`}`;
}

function Tabs({ at, reply }) {
  const r = reply.result, calls = reply.calls || r.calls || [], logs = r.logs || [];
  const tabs = [["answer", "Answer"], ["changes", `Changes ${r.changes?.length || 0}`], ["calls", `Calls ${calls.length}`], ["log", `Log ${logs.length}`]];
  const move = (e) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[e.key];
    if (!step) return;
    const next = (tabs.findIndex(([k]) => k === at.value) + step + tabs.length) % tabs.length;
    at.value = tabs[next][0];
    e.currentTarget.children[next].focus();
  };
  return html`<div role="tablist" aria-label="Result" class="tabs" onKeyDown=${move}>${tabs.map(([k, name]) => html`<button key=${k} role="tab" id=${"tab-" + k} aria-selected=${at.value === k} aria-controls="tab-panel" tabindex=${at.value === k ? 0 : -1} onClick=${() => (at.value = k)}>${name}</button>`)}</div>
    <div id="tab-panel" role="tabpanel" aria-labelledby=${"tab-" + at.value} tabindex="0">
      ${at.value === "answer" && html`
        ${r.answer === undefined && r.result === undefined && html`<p class="quiet">It gave no answer. <code>SDK.Out.answer(x)</code> gives one, and so does the last expression.</p>`}
        ${r.answer !== undefined && html`<h2>Answer</h2>${typeof r.answer === "string" ? html`<p class="answer">${r.answer}</p>` : html`<${JSONText} value=${r.answer} label="Answer" />`}`}
        ${r.result !== undefined && r.result !== null && html`<h2>Result</h2><${JSONText} value=${r.result} label="Result" />`}`}
      ${at.value === "changes" && html`<${Changes} changes=${r.changes} done=${!reply.dryRun && reply.ok} />`}
      ${at.value === "calls" && html`<${Calls} calls=${calls} />`}
      ${at.value === "log" && (logs.length ? html`<ol class="log">${logs.map((l) => html`<li class=${l.level}><span class="quiet">${ms(l.timeMs)}</span> <b class="hidden">${l.level}</b> <span>${l.message}</span></li>`)}</ol>` : html`<p class="quiet">It wrote no log. <code>console.log(x)</code> writes one.</p>`)}
    </div>`;
}

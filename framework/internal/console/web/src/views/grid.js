import { html, useEffect, useSignal } from "../html.js";
import { get } from "../api.js";
import { defaultSet, entity, may, mayMake } from "../session.js";
import { route, narrow, go, url } from "../router.js";
import { useAgain, useChanges, useLatest } from "../live.js";
import { Empty } from "../parts/empty.js";
import { FaultText } from "../parts/fault.js";
import { own, without } from "../parts/own.js";
import { Unread, readNumber } from "../parts/typed.js";
import { Time, short } from "../parts/value.js";

// words say what operators of filters mean; those that a person does not need are left out.
const words = { $icontains: "contains", $eq: "is", $ne: "is not", $startsWith: "begins with", $gte: "at least", $lte: "at most", $has: "has", $null: "is empty" };
const operatorsOf = (f) => Object.entries(words).filter(([op]) => f.operators.includes(op) && !(f.type === "json" && (op === "$eq" || op === "$ne")) && !(f.type === "time" && op === "$eq"));

// readable is a column's value, shortened; the row has it whole.
export function Cell({ field, value }) {
  if (value === null || value === undefined) return html`<span class="quiet" aria-label="empty">·</span>`;
  if (field.type === "time") return html`<${Time} at=${value} />`;
  if (field.type === "bool") return value ? "yes" : "no";
  return short(value, 60);
}

const numeric = (f) => (["int", "float", "decimal"].includes(f.type) ? "number" : "");

const columnsOf = (e) => {
  const fields = e.fields.filter((f) => !f.writeOnly);
  const rank = (f) => (f.name === e.key ? 9 : /^(name|title|label)$/.test(f.name) ? 0 : f.type === "json" || f.type === "text" || f.type === "bytes" ? 7 : f.name === e.version || /^(created|updated)At$/.test(f.name) ? 6 : f.edge ? 5 : 2);
  return fields.map((f, i) => [rank(f), i, f]).sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([, , f]) => f);
};

function parse(text) {
  try {
    const v = JSON.parse(text || "{}");
    return v && typeof v === "object" && !Array.isArray(v) ? v : {};
  } catch {
    return {};
  }
}

// valueOf is what a person typed, in the type of the field.
function valueOf(f, op, text) {
  if (op === "$null") return true;
  if (f.type === "bool") return text === "true";
  if (f.type === "int" || f.type === "float") {
    const n = readNumber(text, f.type);
    return n instanceof Unread ? text : n; // the server says what is wrong with it
  }
  return text;
}

function Filters({ e, filter }) {
  const readable = e.fields.filter((f) => !f.writeOnly && operatorsOf(f).length);
  const begin = readable.find((one) => one.operators.includes("$icontains") && one.name !== e.key) || readable[0];
  const field = useSignal(begin?.name), op = useSignal(operatorsOf(begin)[0][0]), typed = useSignal("");
  const f = readable.find((one) => one.name === field.value) || readable[0];
  const choices = f.type === "bool" ? [["true", "yes"], ["false", "no"]] : f.enum?.map((v) => [v, v]);
  const set = (next) => narrow({ filter: Object.keys(next).length ? JSON.stringify(next) : "", page: "" });
  const add = (ev) => {
    ev.preventDefault();
    const asked = own(filter, f.name);
    const before = asked && typeof asked === "object" && !Array.isArray(asked) ? asked : asked === undefined ? {} : { $eq: asked };
    set({ ...without(filter, f.name), [f.name]: { ...before, [op.value]: valueOf(f, op.value, typed.value) } });
    typed.value = "";
  };
  return html`<form class="row filters" onSubmit=${add} aria-label="Filter">
    <select aria-label="Field" value=${f.name} onChange=${(ev) => { field.value = ev.target.value; typed.value = ""; op.value = operatorsOf(readable.find((one) => one.name === ev.target.value))[0][0]; }}>${readable.map((one) => html`<option key=${one.name} value=${one.name} selected=${one.name === f.name}>${one.name}</option>`)}</select>
    <select aria-label="Comparison" onChange=${(ev) => (op.value = ev.target.value)}>${operatorsOf(f).map(([k, name]) => html`<option key=${k} value=${k} selected=${k === op.value}>${name}</option>`)}</select>
    ${op.value !== "$null" && (choices ? html`<select aria-label="Value" required onChange=${(ev) => (typed.value = ev.target.value)}><option value="">—</option>${choices.map(([v, name]) => html`<option key=${v} value=${v} selected=${v === typed.value}>${name}</option>`)}</select>`
      : html`<input aria-label="Value" value=${typed.value} onInput=${(ev) => (typed.value = ev.target.value)} />`)}
    <button>Filter</button>
    ${Object.entries(filter).map(([k, v]) => html`<span class="chip" key=${k}><code>${k} ${short(v, 60)}</code><button type="button" class="plain" aria-label=${"Remove the filter on " + k} onClick=${() => set(without(filter, k))}>×</button></span>`)}
  </form>`;
}

export function Grid({ args: [name] }) {
  const e = entity(name);
  if (!e) return html`<${Empty} whole title=${`There is no entity ${name}`} help="It does not exist, or you may not see it."><a class="button" href="/console/entities">All entities</a><//>`;
  if (!may(e, "collection")) return html`<${Empty} whole title=${`You may not list ${name}`} help="Its rows cannot be read with your rights." />`;
  return html`<${Rows} e=${e} />`;
}

function Rows({ e }) {
  const q = route.value.query, filter = parse(q.get("filter")), set = q.get("set") || "", sort = q.get("sort") || "";
  const page = useSignal(null), fault = useSignal(null);
  const path = e.path + "?" + new URLSearchParams(Object.entries({ filter: q.get("filter") || "", q: q.get("q") || "", sort, page: q.get("page") || "", pageSize: "30", set }).filter(([, v]) => v !== ""));
  const fresh = useLatest(path);
  const load = async () => {
    const current = fresh();
    try {
      const found = await get(path);
      if (!current()) return;
      page.value = found;
      fault.value = null;
    } catch (f) {
      if (!current()) return;
      fault.value = f;
      if (f.status >= 400 && f.status < 500) page.value = null; // these rows are no answer to what was asked
    }
  };
  useEffect(() => void load(), [path]);
  useChanges(e.name, set, load);
  useAgain(load);
  const columns = columnsOf(e), items = page.value?.items || [], at = page.value?.page || 1, pages = page.value ? Math.max(1, Math.ceil((page.value.totalCount ?? items.length) / page.value.pageSize)) : 1;
  const to = (id) => url("/entities/" + e.name + "/" + encodeURIComponent(id), { set });
  const order = (f) => narrow({ sort: sort === f.name ? "-" + f.name : sort === "-" + f.name ? "" : f.name, page: "" });
  const narrowed = Object.keys(filter).length || q.get("q"), all = url("/entities/" + e.name, { set });
  return html`
    <div class="row"><h1>${e.name}</h1>${page.value?.totalCount !== undefined && html`<span class="quiet">${page.value.totalCount} ${page.value.totalCount === 1 ? "row" : "rows"}</span>`}<span class="grow"></span>
      ${e.sets.length > 0 && html`<label class="inline">Set <input list="known-sets" value=${set} placeholder=${defaultSet()} onChange=${(ev) => narrow({ set: ev.target.value.trim(), page: "" })} /><datalist id="known-sets">${e.sets.filter((s) => !s.includes("*")).map((s) => html`<option value=${s} />`)}</datalist></label>`}
      ${mayMake(e) && html`<a class="button primary" href=${url("/entities/" + e.name + "/+new", { set })}>New ${e.name}</a>`}</div>
    <p class="quiet">${e.description}</p>
    ${e.searchable && html`<input type="search" class="search" aria-label=${"Search " + e.name} placeholder="Search" value=${q.get("q") || ""} onChange=${(ev) => narrow({ q: ev.target.value, page: "" })} />`}
    <${Filters} e=${e} filter=${filter} />
    <${FaultText} fault=${fault.value}>${["filter", "q", "sort", "page"].some((k) => q.get(k)) && html`<p><button onClick=${() => go(all)}>Show all rows</button></p>`}<//>
    ${page.value && !fault.value && !items.length && (at > 1
      ? html`<${Empty} title="There is no such page" help=${`The last one is page ${pages}.`}><button onClick=${() => narrow({ page: pages > 1 ? pages : "" })}>Show the last page</button><//>`
      : narrowed
      ? html`<${Empty} title="Nothing fits" help="No row has all of this."><button onClick=${() => go(all)}>Remove all filters</button><//>`
      : html`<${Empty} title=${`No ${e.name} yet`} help="Scripts, tools and people make rows.">${mayMake(e) && html`<a class="button primary" href=${url("/entities/" + e.name + "/+new", { set })}>Make the first one</a>`}<//>`)}
    ${items.length > 0 && html`<div class="scroll" tabindex="0" role="region" aria-label=${"Rows of " + e.name}><table class="grid">
      <thead><tr>${columns.map((f) => html`<th key=${f.name} scope="col" class=${numeric(f)} aria-sort=${sort === f.name ? "ascending" : sort === "-" + f.name ? "descending" : undefined}>
        ${f.type === "json" ? f.name : html`<button class="plain" onClick=${() => order(f)}>${f.name}<span aria-hidden="true">${sort === f.name ? " ↑" : sort === "-" + f.name ? " ↓" : ""}</span></button>`}</th>`)}</tr></thead>
      <tbody>${items.map((row) => html`<tr key=${row[e.key]} onClick=${(ev) => !ev.target.closest("a") && go(to(row[e.key]))}>${columns.map((f, i) => html`<td key=${f.name} class=${numeric(f)}>
        ${i === 0 ? html`<a href=${to(row[e.key])}>${short(own(row, f.name), 60) || short(row[e.key])}</a>` : html`<${Cell} field=${f} value=${own(row, f.name)} />`}</td>`)}</tr>`)}</tbody></table></div>
      <nav class="row pages" aria-label="Pages"><button disabled=${at <= 1} onClick=${() => narrow({ page: at > 2 ? at - 1 : "" })}>Earlier</button><span>${at} of ${pages}</span><button disabled=${at >= pages} onClick=${() => narrow({ page: at + 1 })}>Later</button></nav>`}`;
}

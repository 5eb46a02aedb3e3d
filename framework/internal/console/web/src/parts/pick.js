// A row at the other end of a relationship, by its id.
import { html, useEffect, useSignal } from "../html.js";
import { get } from "../api.js";
import { entity, may } from "../session.js";
import { useLatest } from "../live.js";
import { short } from "./value.js";

export const titleOf = (row, e) => short(row.name || row.title || row.label || row[e?.key || "id"], 60);

const wait = 200; // ms, in which a person goes on typing

// Pick is an input for an id, which offers the rows that fit what is typed. Whatever else is typed counts as
// an id: it may be one of a row that is not offered.
export function Pick({ target, set, value, change, ...common }) {
  const e = entity(target), rows = useSignal([]), fresh = useLatest(target);
  const text = value ?? "", list = common.id + "-rows";
  const load = async () => {
    const label = e.fields.find((f) => /^(name|title|label)$/.test(f.name) && f.operators.includes("$icontains"));
    const query = { pageSize: "10", ...(set && { set }) };
    if (text && e.searchable) query.q = text;
    else if (text && label) query.filter = JSON.stringify({ [label.name]: { $icontains: text } });
    const current = fresh();
    try {
      const found = await get(e.path + "?" + new URLSearchParams(query));
      if (current()) rows.value = found.items;
    } catch {
      // an id can be typed without an offer
    }
  };
  useEffect(() => {
    if (!e || !may(e, "collection") || rows.value.some((row) => row[e.key] === text)) return;
    const due = setTimeout(load, wait);
    return () => clearTimeout(due);
  }, [text, set]);
  const chosen = rows.value.find((row) => e && row[e.key] === text);
  return html`<input ...${common} list=${list} value=${text} placeholder=${"Id of a " + target + ", or a part of its name"} autocomplete="off" onInput=${(ev) => change(ev.target.value === "" ? undefined : ev.target.value)} />
    <datalist id=${list}>${e && rows.value.map((row) => html`<option key=${row[e.key]} value=${row[e.key]}>${titleOf(row, e)}</option>`)}</datalist>
    ${chosen && html`<p class="quiet">${titleOf(chosen, e)}</p>`}`;
}

import { html, useEffect, useRef, useSignal } from "../html.js";
import { Fault, request } from "../api.js";
import { entity, may, mayMake } from "../session.js";
import { route, go, url, useUnsaved } from "../router.js";
import { useAgain, useLatest } from "../live.js";
import { notify } from "../notice.js";
import { Empty } from "../parts/empty.js";
import { FaultText } from "../parts/fault.js";
import { Labelled, inForm, places } from "../parts/form.js";
import { Confirm } from "../parts/confirm.js";
import { Conflict } from "../parts/conflict.js";
import { Deleted } from "../parts/deleted.js";
import { has, own } from "../parts/own.js";
import { Pick } from "../parts/pick.js";
import { Related } from "../parts/related.js";
import { short } from "../parts/value.js";

// schemaOf is the JSON Schema by which a field is asked for.
function schemaOf(f) {
  const types = { int: "integer", float: "number", bool: "boolean", json: undefined };
  const type = f.type in types ? types[f.type] : "string";
  const s = { type, description: f.description, minimum: f.min, maximum: f.max, maxLength: f.maxLength };
  if (f.enum) s.enum = f.enum;
  if (f.type === "text") s.format = "text";
  if (f.type === "day") s.format = "date";
  if (f.type === "decimal") s.format = "decimal";
  return s;
}

const keyless = (e) => e.relationships.filter((r) => !r.many && !r.reference && !r.readOnly);

// fieldsOf are what a row is asked for: its fields, and relationships to one row that no field is the key of.
const fieldsOf = (e) => [
  ...e.fields.map((f) => ({ ...f, target: f.edge && e.relationships.find((r) => r.name === f.edge)?.target })),
  ...keyless(e).map((r) => ({ ...r, relation: true, nullable: !r.required })),
];

// keysOf are the values of such relationships, in a row that was read with them.
const keysOf = (e, row) => Object.fromEntries(keyless(e).map((r) => [r.name, own(row, r.name)?.[entity(r.target)?.key || "id"] ?? null]));

// picker makes the input of a field that has the id of another row.
const picker = (target, set) => (more) => html`<${Pick} target=${target} set=${set} ...${more} />`;

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

export function Row({ args: [name, id] }) {
  const e = entity(name);
  if (!e) return html`<${Empty} whole title=${`There is no entity ${name}`} help="It does not exist, or you may not see it." />`;
  return html`<${Record} e=${e} id=${id} made=${id === "+new"} />`;
}

function Record({ e, id, made }) {
  const set = route.value.query.get("set") || "", query = set ? "?set=" + encodeURIComponent(set) : "";
  const at = e.path + "/" + encodeURIComponent(id);
  const stored = useSignal(null), tag = useSignal(""), draft = useSignal({}), fault = useSignal(null), busy = useSignal(false), asking = useSignal(false), gone = useSignal(false), related = useSignal(null);
  const theirs = useSignal(null); // the row that somebody else has changed, and its tag; {} where it is deleted
  const begun = useSignal({}), form = useRef(), late = useRef({}), fresh = useLatest(at + query), all = fieldsOf(e);

  // read returns the row as it is now, with the keys of its relationships, and its tag.
  const read = async () => {
    const { body, headers } = await request("GET", at + query);
    const whole = e.relationships.length ? (await request("GET", at + "?" + new URLSearchParams({ with: "all", ...(set && { set }) }))).body : {};
    return { row: { ...body, ...keysOf(e, whole) }, tag: headers.get("ETag") || "", whole };
  };
  // take has the form show a row, with what of it was changed here.
  const take = (row, now, mine = {}) => ([stored.value, draft.value, tag.value] = [row, { ...row, ...mine }, now]);
  const load = async () => {
    const current = fresh();
    fault.value = theirs.value = null;
    try {
      if (made) {
        const { body } = may(e, "new") ? await request("POST", e.path + ":new", { body: set ? { set } : {} }) : { body: {} };
        if (!current()) return;
        stored.value = {};
        begun.value = draft.value = Object.fromEntries(Object.entries(body).filter(([k, v]) => k !== e.key && v !== null && all.some((f) => f.name === k && !f.readOnly)));
        return;
      }
      const { row, tag: now, whole } = await read();
      if (!current()) return;
      take(row, now, late.current);
      late.current = {};
      related.value = whole;
    } catch (f) {
      if (!current()) return;
      if (f.code === "not_found" && !stored.value) gone.value = true;
      else fault.value = f;
    }
  };
  useEffect(() => void load(), [at, set]);
  useAgain(() => (stored.value ? (fault.value = null) : load()));

  const editable = (f) => (made ? mayMake(e) : may(e, "patch")) && !f.readOnly && f.name !== e.version && (made || (!f.immutable && f.name !== e.key)) && !(made && f.name === e.key && !f.required);
  const changes = () => Object.fromEntries(all.filter((f) => editable(f) && !same(own(draft.value, f.name), own(stored.value, f.name))).map((f) => [f.name, own(draft.value, f.name) ?? null]));
  // since returns what was typed after the form was sent, which the server's answer must not replace.
  const since = (sent) => Object.fromEntries(all.filter((f) => editable(f) && !same(own(draft.value, f.name), own(sent, f.name))).map((f) => [f.name, own(draft.value, f.name) ?? null]));
  const dirty = stored.value !== null && (made ? !same(draft.value, begun.value) : Object.keys(changes()).length > 0);
  useUnsaved(dirty);
  const list = url("/entities/" + e.name, { set });
  // The server's words are about headers and ids.
  const overtaken = (status, what, hint) => (fault.value = new Fault(status, { code: "conflict", message: `Somebody else has ${what} this row since you opened it.`, hint }));
  const failed = async (f) => {
    if (made || (f.status !== 412 && f.code !== "not_found")) return void (fault.value = f);
    try {
      const now = await read();
      if (f.status !== 412) return void (fault.value = f); // another row is missing, or it is there again
      theirs.value = now;
      overtaken(412, "changed", "What you typed is still in the form.");
    } catch (g) {
      if (g.code !== "not_found") return void (fault.value = g);
      theirs.value = {};
      overtaken(404, "deleted", "What you typed is still in the form. You can create the row again with it. To bring back what was deleted along with it, too, undo the run that deleted it, and save again.");
    }
  };
  const rowPath = (row) => url("/entities/" + e.name + "/" + encodeURIComponent(row[e.key]), { set });
  // store makes a row, and leaves one alone that is there already: an upsert changes it, so a row whose id is chosen is put where none is.
  const store = (body) => {
    if (may(e, "create")) return request("POST", e.path + ":create", { body: { model: body, ...(set && { set }) } }).catch((f) => Promise.reject(inForm(f)));
    const { [e.key]: chosen, ...rest } = body;
    return chosen === undefined ? request("POST", e.path + query, { body }) : request("PUT", url(e.path + "/" + encodeURIComponent(chosen), { set }), { body: rest, headers: { "If-None-Match": "*" } });
  };
  // again creates the row that somebody else has deleted, as the form has it.
  const again = async () => {
    if (!form.current.reportValidity()) return;
    busy.value = true;
    const kept = (f) => !f.readOnly && f.name !== e.version && f.name !== e.key && (own(draft.value, f.name) ?? null) !== null;
    const body = Object.fromEntries(all.filter(kept).map((f) => [f.name, own(draft.value, f.name)])), sent = draft.value;
    try {
      const put = () => (may(e, "upsert") ? request("PUT", at + query, { body, headers: { "If-None-Match": "*" } }) : store({ ...body, [e.key]: id }));
      const { body: row, headers } = await put().catch((f) => {
        if (f.code !== "not_found") throw f;
        return store(body); // the database makes the ids of new rows
      });
      notify(e.name + " was created again.");
      late.current = since(sent);
      if (row[e.key] !== id) return void go(rowPath(row), { replace: true });
      take({ ...body, ...row }, headers.get("ETag") || "", late.current);
      late.current = {};
      fault.value = theirs.value = null;
    } catch (f) {
      await failed(f);
    } finally {
      busy.value = false;
    }
  };
  // settle puts what was typed here on the row as it is now.
  const settle = (mine) => {
    const { row, tag: now, whole } = theirs.value;
    take(row, now, mine);
    related.value = whole;
    fault.value = theirs.value = null;
  };
  // patch changes the row, and keeps what else was typed by the time of the answer, which mine returns.
  const patch = async (body, mine) => {
    const { body: row, headers } = await request("PATCH", at + query, { body, headers: { "Content-Type": "application/merge-patch+json", ...(tag.value && { "If-Match": tag.value }) } });
    const now = headers.get("ETag") || "", keys = Object.fromEntries(keyless(e).map(({ name }) => [name, has(body, name) ? own(body, name) : own(stored.value, name)]));
    take({ ...row, ...keys }, now, mine());
    if (e.relationships.length) related.value = (await read().catch(() => null))?.whole ?? related.value;
  };
  // link changes which rows are at the other end of a relationship, and says whether that went well.
  const link = (r) => async (change) => {
    busy.value = true;
    fault.value = theirs.value = null;
    try {
      await patch({ [r.name]: change }, changes);
      return true;
    } catch (f) {
      await failed(f);
    } finally {
      busy.value = false;
    }
  };
  const save = async (ev) => {
    ev?.preventDefault();
    if (!ev && !form.current.reportValidity()) return;
    busy.value = true;
    fault.value = theirs.value = null;
    const sent = draft.value;
    try {
      if (made) {
        const body = Object.fromEntries(Object.entries(changes()).filter(([, v]) => v !== null));
        const { body: row } = await store(body);
        notify(e.name + " was created.");
        late.current = since(sent);
        go(rowPath(row), { replace: true });
      } else {
        await patch(changes(), () => since(sent));
        notify("Saved.");
      }
    } catch (f) {
      await failed(f);
    }
    busy.value = false;
  };
  const remove = async (yes) => {
    asking.value = false;
    if (!yes) return;
    try {
      const { body } = await request("DELETE", at + query, { headers: tag.value ? { "If-Match": tag.value } : {} });
      notify(body.deleted ? e.name + " was deleted." : "Somebody else had deleted it before.");
      go(list);
    } catch (f) {
      await failed(f);
      if (theirs.value && !theirs.value.row && !Object.keys(changes()).length) {
        notify("Somebody else had deleted it before.");
        go(list);
      }
    }
  };
  if (gone.value) return html`<${Empty} whole title="This row does not exist" help="It was deleted, or it is in another set."><a class="button" href=${list}>All of ${e.name}</a><//>`;
  if (!stored.value) return html`<${FaultText} fault=${fault.value} />`;
  const wrong = places(fault.value), fields = all.filter((f) => (made ? editable(f) : !f.relation || editable(f)));
  const title = made ? "New " + e.name : short(stored.value.name || stored.value.title || stored.value[e.key], 80);
  return html`
    <p class="crumbs"><a href=${list}>${e.name}</a></p>
    <div class="row"><h1>${title}</h1><span class="grow"></span>${!made && may(e, "delete") && html`<button class="danger" onClick=${() => (asking.value = true)}>Delete</button>`}</div>
    <div class="split">
      <form onSubmit=${save} aria-label=${e.name} ref=${form}>
        ${fields.map((f) => editable(f) ? html`<${Labelled} key=${f.name} name=${f.name} schema=${schemaOf(f)} input=${f.target && picker(f.target, set)} value=${own(draft.value, f.name) ?? undefined} required=${made && f.required && !f.nullable} wrong=${wrong["/" + f.name]}
            change=${(v) => (draft.value = { ...draft.value, [f.name]: v ?? null })} />`
          : !f.writeOnly && html`<div class="field" key=${f.name}><span class="label">${f.name}</span><p class="fixed">${short(own(stored.value, f.name), 2000) || html`<span class="quiet">empty</span>`}</p></div>`)}
        <${FaultText} fault=${fault.value} seek>${theirs.value?.row && html`<${Conflict} fields=${all.filter((f) => editable(f))} read=${stored.value} now=${theirs.value.row} mine=${changes()} save=${() => (settle(changes()), save())} drop=${() => settle({})} />`}
          ${theirs.value && !theirs.value.row && html`<${Deleted} again=${mayMake(e) && again} busy=${busy.value} list=${list} />`}<//>
        ${(made ? mayMake(e) : may(e, "patch")) ? html`<div class="row"><button class="primary" disabled=${busy.value || (!made && !dirty)}>${made ? "Create" : "Save"}</button>${dirty && !made && html`<button type="button" onClick=${() => (draft.value = { ...stored.value })}>Discard</button>`}</div>` : html`<p class="quiet">You may read this row, and not change it.</p>`}
      </form>
      ${!made && e.relationships.length > 0 && html`<aside aria-label="Relationships"><h2>Relationships</h2>${e.relationships.map((r) => html`<${Related} key=${r.name} r=${r} value=${own(related.value, r.name)} known=${related.value !== null} set=${set} busy=${busy.value} write=${r.many && !r.readOnly && !r.immutable && may(e, "patch") && link(r)} />`)}</aside>`}
    </div>
    <${Confirm} open=${asking.value} title=${"Delete this " + e.name + "?"} yes="Delete" danger close=${remove}><p>${title}</p><p class="quiet">Rows that belong to it may go along. The run can be undone afterwards.</p><//>`;
}

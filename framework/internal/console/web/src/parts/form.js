// Forms from JSON Schema. What has no form of its own is written as JSON.
import { html } from "../html.js";
import { own, without } from "./own.js";
import { NumberInput, JSONInput } from "./typed.js";

// typeOf is how a schema is asked for.
function kindOf(schema) {
  const type = Array.isArray(schema.type) ? schema.type.find((t) => t !== "null") : schema.type;
  if (schema.enum) return "choice";
  if (schema.const !== undefined) return "constant";
  if (type === "boolean") return "yesno";
  if (type === "integer") return "int";
  if (type === "number") return "float";
  if (type === "string" && schema.format === "decimal") return "decimal";
  if (type === "string") return schema.format === "date" ? "date" : (schema.maxLength || 0) > 300 || schema.format === "text" ? "long" : "text";
  return "json";
}

// Input is one value. change gets the value, undefined for none, and what is wrong with it.
export function Input({ id, schema, value, change, required, described }) {
  const kind = kindOf(schema);
  const common = { id, required, "aria-describedby": described, disabled: schema.readOnly };
  switch (kind) {
    case "choice":
      return html`<select ...${common} onChange=${(e) => change(e.target.value === "" ? undefined : JSON.parse(e.target.value))}>
        ${(!required || value === undefined) && html`<option value="" selected=${value === undefined || value === null}>—</option>`}
        ${schema.enum.filter((v) => v !== null).map((v) => html`<option key=${v} value=${JSON.stringify(v)} selected=${v === value}>${String(v)}</option>`)}</select>`;
    case "constant":
      return html`<input ...${common} value=${String(schema.const)} readonly />`;
    case "yesno":
      return html`<select ...${common} onChange=${(e) => change(e.target.value === "" ? undefined : e.target.value === "true")}>
        ${(!required || typeof value !== "boolean") && html`<option value="" selected=${typeof value !== "boolean"}>—</option>`}
        <option value="true" selected=${value === true}>yes</option><option value="false" selected=${value === false}>no</option></select>`;
    case "int":
    case "float":
    case "decimal":
      return html`<${NumberInput} ...${common} kind=${kind} schema=${schema} value=${value} change=${change} />`;
    case "date":
    case "text":
      return html`<input ...${common} type=${kind} maxlength=${schema.maxLength} value=${value ?? ""} onInput=${(e) => change(e.target.value === "" && !required ? undefined : e.target.value)} autocomplete="off" />`;
    case "long":
      return html`<textarea ...${common} rows="4" value=${value ?? ""} onInput=${(e) => change(e.target.value)}></textarea>`;
  }
  return html`<${JSONInput} ...${common} value=${value} change=${change} />`;
}

// Labelled is an input with its name, its help and what is wrong with it. input makes one of its own kind.
export function Labelled({ name, schema, value, change, required, wrong, input }) {
  const id = "field-" + name.replace(/\W/g, (c) => "-" + c.charCodeAt(0).toString(16)), help = schema.description || "", described = help || wrong ? id + "-help" : undefined;
  return html`<div class="field">
    <label for=${id}>${name}${required && html`<span class="quiet"> needed</span>`}</label>
    ${input ? input({ id, value, change, required, "aria-describedby": described }) : html`<${Input} id=${id} schema=${schema} value=${value} change=${change} required=${required} described=${described} />`}
    ${(help || wrong) && html`<p id=${id + "-help"} class=${wrong ? "wrong" : "quiet"}>${wrong || help}</p>`}
  </div>`;
}

// Form asks for an object.
export function Form({ schema, value, wrong = {} }) {
  const properties = Object.entries(schema.properties || {});
  if (!properties.length) return html`<p class="quiet">It takes nothing.</p>`;
  const required = schema.required || [];
  return properties.map(([name, s]) => html`<${Labelled} key=${name} name=${name} schema=${s} value=${own(value.value, name)} required=${required.includes(name)} wrong=${wrong["/" + name]}
    change=${(v) => (value.value = v === undefined ? without(value.value, name) : { ...value.value, [name]: v })} />`);
}

// inForm is a fault of a create, whose input has the form's fields in its model.
export const inForm = (f) => {
  const at = (path) => path?.replace(/^\/model(?=\/|$)/, "");
  return Object.assign(f, { path: at(f.path), details: Array.isArray(f.details) ? f.details.map((d) => ({ ...d, path: at(d.path) })) : f.details });
};

// places are the messages of a fault by their path into the input.
export const places = (fault) => Object.fromEntries((Array.isArray(fault?.details) ? fault.details : fault?.path ? [fault] : []).map((d) => [d.path, d.message]));

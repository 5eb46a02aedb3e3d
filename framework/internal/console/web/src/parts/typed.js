// Fields whose values are read from a text. The text stays as it was typed: a page that writes its own form
// of a value under the typing turns "0." into "0".
import { html, useSignal, useLayoutEffect, useRef } from "../html.js";

// Unread stands in a value's place while the text is none: what discards the value takes the text along.
export class Unread {
  constructor(text, why) {
    Object.assign(this, { text, why });
  }
}

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

// useTyped returns the properties of an element for a value. read makes a value of a text, write the reverse.
// The text is the typed one for as long as its value is that of the field.
function useTyped({ value, change, read, write }) {
  const typed = useSignal(null), place = useRef();
  useLayoutEffect(() => place.current.setCustomValidity(value instanceof Unread ? value.why : ""));
  return {
    ref: place,
    value: typed.value && same(typed.value.value, value) ? typed.value.text : value instanceof Unread ? value.text : write(value),
    onInput: (e) => {
      const now = read(e.target.value);
      typed.value = { text: e.target.value, value: now };
      change(now);
    },
  };
}

const kinds = {
  int: [/^[+-]?\d+$/, "Write a whole number, such as 12."],
  float: [/^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?$/i, "Write a number, such as 12.5."],
  decimal: [/^[+-]?(\d+\.?\d*|\.\d+)$/, "Write a number, such as 12.5."],
};

// readNumber is the value of a text by the kind of its field, undefined for none. Decimals are texts in the
// API, and so are integers that JavaScript would round.
export function readNumber(text, kind, { minimum, maximum } = {}) {
  const digits = text.trim(), n = Number(digits), [form, why] = kinds[kind];
  if (digits === "") return undefined;
  if (!form.test(digits)) return new Unread(text, why);
  if (minimum !== undefined && n < minimum) return new Unread(text, `It must be at least ${minimum}.`);
  if (maximum !== undefined && n > maximum) return new Unread(text, `It must be at most ${maximum}.`);
  return kind === "decimal" || (kind === "int" && !Number.isSafeInteger(n)) ? digits.replace(/^\+/, "") : n;
}

export function NumberInput({ value, change, kind, schema, ...common }) {
  const own = useTyped({ value, change, read: (text) => readNumber(text, kind, schema), write: (v) => String(v ?? "") });
  return html`<input ...${common} ...${own} type="text" inputmode=${kind === "int" ? "numeric" : "decimal"} autocomplete="off" />`;
}

function readJSON(text) {
  if (text.trim() === "") return undefined;
  try {
    return JSON.parse(text);
  } catch {
    return new Unread(text, "This is not JSON.");
  }
}

export function JSONInput({ value, change, ...common }) {
  const own = useTyped({ value, change, read: readJSON, write: (v) => (v === undefined || v === null ? "" : JSON.stringify(v, null, 2)) });
  return html`<textarea ...${common} ...${own} class="code" rows="4" spellcheck="false" placeholder="JSON"></textarea>`;
}

// The editor of scripts. It lives in a shadow root, where its styles need no exception from the
// page's policy.
import { Compartment, EditorState } from "@codemirror/state";
import { EditorView, keymap, lineNumbers, highlightActiveLine, drawSelection, hoverTooltip } from "@codemirror/view";
import { defaultKeymap, history, historyKeymap } from "@codemirror/commands";
import { javascript } from "@codemirror/lang-javascript";
import { HighlightStyle, syntaxHighlighting, bracketMatching, indentOnInput, foldGutter, foldKeymap } from "@codemirror/language";
import { autocompletion, closeBrackets, closeBracketsKeymap, completionKeymap } from "@codemirror/autocomplete";
import { linter, lintKeymap, setDiagnostics } from "@codemirror/lint";
import { highlightSelectionMatches, searchKeymap } from "@codemirror/search";
import { tags as t } from "@lezer/highlight";
import { question } from "./types.js";

const colors = HighlightStyle.define([
  { tag: [t.keyword, t.controlKeyword, t.operatorKeyword, t.definitionKeyword, t.moduleKeyword], color: "var(--code-keyword)" },
  { tag: [t.string, t.special(t.string), t.regexp], color: "var(--code-string)" },
  { tag: [t.number, t.bool, t.null], color: "var(--code-number)" },
  { tag: [t.comment, t.lineComment, t.blockComment], color: "var(--muted)", fontStyle: "italic" },
  { tag: [t.function(t.variableName), t.function(t.propertyName)], color: "var(--code-function)" },
  { tag: [t.propertyName, t.attributeName], color: "var(--code-property)" },
  { tag: [t.typeName, t.className], color: "var(--code-type)" },
  { tag: t.invalid, color: "var(--bad)" },
]);

const look = EditorView.theme({
  "&": { color: "var(--text)", backgroundColor: "var(--surface)", fontSize: "13px", height: "100%" },
  "&.cm-focused": { outline: "none" }, // the frame around it shows it
  ".cm-scroller": { fontFamily: "var(--mono)", lineHeight: "1.55" },
  ".cm-content": { caretColor: "var(--text)", padding: "8px 0" },
  ".cm-cursor": { borderLeftColor: "var(--text)" },
  ".cm-gutters": { backgroundColor: "var(--surface)", color: "var(--muted)", border: "none" },
  ".cm-activeLine, .cm-activeLineGutter": { backgroundColor: "var(--hover)" },
  "&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground": { backgroundColor: "var(--selection)" },
  ".cm-tooltip": { backgroundColor: "var(--raised)", color: "var(--text)", border: "1px solid var(--line)", borderRadius: "6px", boxShadow: "var(--shadow)", overflow: "hidden" },
  ".cm-tooltip-autocomplete > ul": { fontFamily: "var(--mono)", maxHeight: "16em" },
  ".cm-tooltip-autocomplete > ul > li[aria-selected]": { backgroundColor: "var(--accent)", color: "var(--on-accent)" },
  ".cm-completionDetail": { opacity: "0.8" },
  ".cm-completionInfo, .types": { maxWidth: "34em", padding: "6px 10px", fontSize: "12px" },
  ".types pre": { margin: "0", whiteSpace: "pre-wrap", fontFamily: "var(--mono)" },
  ".types p": { margin: "4px 0 0", color: "var(--muted)", whiteSpace: "pre-wrap" },
  ".cm-matchingBracket": { backgroundColor: "var(--selection)" },
  ".cm-panels": { backgroundColor: "var(--raised)", color: "var(--text)" },
  ".cm-foldPlaceholder": { backgroundColor: "var(--hover)", color: "var(--muted)", border: "none" },
});

const types = { method: "method", property: "property", function: "function", var: "variable", const: "constant", let: "variable", keyword: "keyword", class: "class", interface: "interface", enum: "enum", type: "type", module: "namespace", string: "text", getter: "property", "local var": "variable", parameter: "variable" };

function describe({ type, text }) {
  const dom = document.createElement("div");
  dom.className = "types";
  const pre = dom.appendChild(document.createElement("pre"));
  pre.textContent = type;
  if (text) dom.appendChild(document.createElement("p")).textContent = text;
  return dom;
}

async function complete(context) {
  const word = context.matchBefore(/[\w$]*/), before = context.state.sliceDoc(Math.max(0, word.from - 1), word.from);
  if (!context.explicit && word.from === word.to && !/[."'{,([ ]/.test(before)) return null;
  if (!context.explicit && word.from === word.to && /[{,([ ]/.test(before)) return null;
  const found = await question("complete", { text: context.state.doc.toString(), at: context.pos });
  if (!found || context.aborted) return null;
  const at = context.pos;
  return {
    from: word.from,
    validFor: /^[\w$]*$/,
    options: found.entries.map((e) => ({
      label: e.name, type: types[e.kind] || "variable", apply: e.insert, boost: e.sort < "12" ? 2 : e.sort < "15" ? 0 : -50,
      info: async () => {
        const d = await question("detail", { at, name: e.name });
        return d && describe(d);
      },
    })),
  };
}

const hover = hoverTooltip(async (view, at) => {
  const found = await question("hover", { text: view.state.doc.toString(), at });
  return found && { pos: found.from, end: found.to, above: true, create: () => ({ dom: describe(found) }) };
}, { hoverTime: 250 });

const check = (async (view) => (await question("check", { text: view.state.doc.toString() }))?.filter((d) => d.from <= view.state.doc.length) || []);

// tongues are what the editor knows of each language: how to colour, complete, explain and check.
const delay = { delay: 350 };
const tongue = ({ grammar, complete, check, hover = [] }) => [grammar, autocompletion({ override: [complete], activateOnTypingDelay: 30, interactionDelay: 30 }), hover, linter(check, delay)];
const own = { grammar: javascript({ typescript: true }), complete, check, hover };
const of = async (language) => (language === "python" ? (await import("./python.js")).python : own);

// focusable has the list of completions, which scrolls, be reached without a mouse.
const focusable = EditorView.updateListener.of(({ view }) => view.requestMeasure({
  key: "focusable", read: () => null,
  write: () => view.dom.querySelector(".cm-tooltip-autocomplete > ul")?.setAttribute("tabindex", "0"),
}));

const base = [look, syntaxHighlighting(colors), lineNumbers(), drawSelection(), EditorView.lineWrapping, bracketMatching()];

function open(place, state) {
  const root = place.shadowRoot || place.attachShadow({ mode: "open" });
  root.replaceChildren();
  return new EditorView({ state, root, parent: root });
}

// editor is for writing in a language. changed gets the text; commands are more keys.
export function editor(place, { text, language, changed, commands }) {
  const known = new Compartment();
  let spoken = language;
  const view = open(place, EditorState.create({
    doc: text,
    extensions: [
      keymap.of(commands), base, history(), highlightActiveLine(), indentOnInput(), closeBrackets(), foldGutter(), highlightSelectionMatches(), known.of(tongue(own)), focusable,
      keymap.of([...closeBracketsKeymap, ...defaultKeymap, ...searchKeymap, ...historyKeymap, ...foldKeymap, ...completionKeymap, ...lintKeymap]),
      EditorView.contentAttributes.of({ "aria-label": "Script" }),
      EditorView.updateListener.of((u) => u.docChanged && changed(u.state.doc.toString())),
    ],
  }));
  // speak has the editor know another language from now on.
  const speak = async (language) => {
    spoken = language;
    const now = await of(language);
    if (spoken === language) view.dispatch({ effects: known.reconfigure(tongue(now)) });
  };
  if (language === "python") speak(language);
  return {
    view, speak,
    set(text) {
      if (text !== view.state.doc.toString()) view.dispatch({ changes: { from: 0, to: view.state.doc.length, insert: text } });
    },
    // mark shows where a run failed.
    mark(fault) {
      if (!fault?.line || fault.line > view.state.doc.lines) return;
      const line = view.state.doc.line(fault.line), from = Math.min(line.from + Math.max((fault.column || 1) - 1, 0), line.to);
      view.dispatch(setDiagnostics(view.state, [{ from, to: line.to, severity: "error", message: fault.message }]), { effects: EditorView.scrollIntoView(from, { y: "center" }) });
    },
    focus: () => view.focus(),
    destroy: () => view.destroy(),
  };
}

// viewer is for reading.
export function viewer(place, { text, language, label, line }) {
  const known = new Compartment();
  const view = open(place, EditorState.create({ doc: text, extensions: [base, known.of(own.grammar), EditorState.readOnly.of(true), EditorView.editable.of(false), EditorView.contentAttributes.of({ "aria-label": label, tabindex: "0", role: "textbox", "aria-readonly": "true", "aria-multiline": "true" })] }));
  if (language === "python") of(language).then(({ grammar }) => view.dispatch({ effects: known.reconfigure(grammar) }));
  if (line && line <= view.state.doc.lines) {
    const at = view.state.doc.line(line);
    view.dispatch({ selection: { anchor: at.from, head: at.to }, effects: EditorView.scrollIntoView(at.from, { y: "center" }) });
  }
  return view;
}

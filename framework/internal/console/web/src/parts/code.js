import { html, useEffect, useRef } from "../html.js";

// Code is a script that is only read.
export function Code({ text, language, label, line }) {
  const place = useRef();
  useEffect(() => {
    let view;
    let gone = false;
    import("../editor.js").then(({ viewer }) => !gone && place.current && (view = viewer(place.current, { text, language, label: label || "Script", line })));
    return () => {
      gone = true;
      view?.destroy();
    };
  }, [text]);
  return html`<div class="editor read" ref=${place}></div>`;
}

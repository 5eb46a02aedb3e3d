// The frame of all views: navigation, the palette of commands, the theme.
import { html, useEffect, useSignal } from "./html.js";
import { overview, session, signOut } from "./session.js";
import { route } from "./router.js";
import { toggle, theme } from "./theme.js";
import { Palette, open as openPalette } from "./palette.js";
import { Notices } from "./notice.js";
import { waiting, watchPlans } from "./waiting.js";

export const places = [
  ["/", "Playground", "M4 5l4 3-4 3M9 12h4"],
  ["/entities", "Entities", "M3 4h10v3H3zM3 9h10v3H3z"],
  ["/runs", "Runs", "M3 12h3V8H3zM7 12h3V4H7zM11 12h2V6h-2z"],
  ["/plans", "Plans", "M3 8l3.5 3.5L13 5"],
  ["/actions", "Actions", "M9 2L4 9h4l-1 5 5-7H8z"],
  ["/status", "Status", "M2 8h3l2-4 3 8 2-4h2"],
];

const here = (path) => (path === "/" ? route.value.path === "/" : route.value.path === path || route.value.path.startsWith(path + "/"));

export function Shell({ children }) {
  watchPlans();
  return html`
    <a class="skip" href="#main" onClick=${(e) => { e.preventDefault(); document.getElementById("main").focus(); }}>Skip to the content</a>
    <header class="bar">
      <a class="brand" href="/console"><span class="mark" aria-hidden="true">K</span>${overview.value.app}</a>
      <nav aria-label="Views">
        ${places.map(([path, name, icon]) => html`
          <a key=${path} href=${"/console" + (path === "/" ? "" : path)} aria-current=${here(path) ? "page" : undefined}>
            <svg viewBox="0 0 16 16" aria-hidden="true"><path d=${icon} /></svg><span>${name}</span>
            ${name === "Plans" && waiting.value > 0 && html`<b class="count">${waiting.value}<span class="hidden"> waiting</span></b>`}
          </a>`)}
      </nav>
      <div class="tools">
        <button class="plain find" onClick=${openPalette} aria-label="Find anything (Ctrl K)"><span class="wide">Find anything</span><kbd>Ctrl K</kbd></button>
        <button class="plain" onClick=${toggle} aria-label=${"Use the " + (theme.value === "dark" ? "light" : "dark") + " theme"}>${theme.value === "dark" ? "☀" : "☾"}</button>
        <button class="plain" onClick=${signOut} aria-label=${"Sign out " + session.value.subject} title=${"Signed in as " + session.value.subject}>⏻</button>
      </div>
    </header>
    <main id="main" tabindex="-1">${children}</main>
    <${Palette} /><${Notices} />`;
}

// The frame of all views: navigation, the palette of commands, the theme.
import { html } from "./html.js";
import { overview, session, signOut } from "./session.js";
import { route, mayLeave } from "./router.js";
import { toggle, theme } from "./theme.js";
import { Palette, open as openPalette } from "./palette.js";
import { Notices } from "./notice.js";
import { pending } from "./api.js";
import { waiting, watchPlans } from "./waiting.js";

export const places = [
  ["/", "Playground", "M4 5l4 3-4 3M9 12h4"],
  ["/entities", "Entities", "M3 4h10v3H3zM3 9h10v3H3z"],
  ["/runs", "Runs", "M3 12h3V8H3zM7 12h3V4H7zM11 12h2V6h-2z"],
  ["/plans", "Plans", "M3 8l3.5 3.5L13 5"],
  ["/actions", "Actions", "M9 2L4 9h4l-1 5 5-7H8z"],
  ["/status", "Status", "M2 8h3l2-4 3 8 2-4h2"],
];

const lens = "M7 3a4 4 0 100 8 4 4 0 000-8zM10 10l4 4", sun = "M8 5a3 3 0 100 6 3 3 0 000-6zM8 1v1.5M8 13.5V15M1 8h1.5M13.5 8H15M3 3l1 1M12 12l1 1M3 13l1-1M12 4l1-1", moon = "M13 9.5A5.5 5.5 0 016.5 3 5.5 5.5 0 1013 9.5z", leave = "M6 3H3v10h3M7 8h7M11 5l3 3-3 3";
const Icon = ({ path }) => html`<svg viewBox="0 0 16 16" aria-hidden="true"><path d=${path} /></svg>`;

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
            <${Icon} path=${icon} /><span>${name}</span>
            ${name === "Plans" && waiting.value > 0 && html`<b class="count">${waiting.value}<span class="hidden"> waiting</span></b>`}
          </a>`)}
      </nav>
      <div class="tools">
        <button class="plain find" onClick=${openPalette}><${Icon} path=${lens} /><span class="wide">Find anything</span><kbd>Ctrl K</kbd></button>
        <button class="plain" onClick=${toggle} aria-label=${"Use the " + (theme.value === "dark" ? "light" : "dark") + " theme"}><${Icon} path=${theme.value === "dark" ? sun : moon} /></button>
        <button class="plain" onClick=${() => mayLeave() && signOut()} aria-label=${"Sign out " + session.value.subject} title=${"Signed in as " + session.value.subject}><${Icon} path=${leave} /></button>
      </div>
    </header>
    <main id="main" tabindex="-1" aria-busy=${pending.value > 0}>${children}</main>
    <${Palette} /><${Notices} />`;
}

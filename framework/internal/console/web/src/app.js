import "./app.css";
import { html, render, useEffect } from "./html.js";
import { signedOut } from "./api.js";
import { session, overview, problem, load } from "./session.js";
import { route } from "./router.js";
import "./theme.js";
import { Shell } from "./shell.js";
import { FaultText } from "./parts/fault.js";
import { SignIn, SignedOut } from "./views/sign-in.js";
import { Playground } from "./views/playground.js";
import { Entities } from "./views/entities.js";
import { Grid } from "./views/grid.js";
import { Row } from "./views/row.js";
import { Runs } from "./views/runs.js";
import { Run } from "./views/run.js";
import { Plans } from "./views/plans.js";
import { Plan } from "./views/plan.js";
import { Actions, Action } from "./views/actions.js";
import { Status } from "./views/status.js";
import { Empty } from "./parts/empty.js";

// Views by pattern; the first that matches is shown. `key` has a view start anew for another path.
const views = [
  [/^\/$/, Playground, "Playground"],
  [/^\/entities$/, Entities, "Entities"],
  [/^\/entities\/([^/]+)$/, Grid, "Entities"],
  [/^\/entities\/([^/]+)\/(.+)$/, Row, "Entities"],
  [/^\/runs$/, Runs, "Runs"],
  [/^\/runs\/([^/]+)$/, Run, "Run"],
  [/^\/plans$/, Plans, "Plans"],
  [/^\/plans\/([^/]+)$/, Plan, "Plan"],
  [/^\/actions$/, Actions, "Actions"],
  [/^\/actions\/(.+)$/, Action, "Action"],
  [/^\/status$/, Status, "Status"],
];

function Current() {
  const { path } = route.value;
  for (const [pattern, View, title] of views) {
    const found = pattern.exec(path);
    if (!found) continue;
    const args = found.slice(1).map(decodeURIComponent);
    document.title = [...args.slice(0, 2), title, overview.value.app].join(" · ");
    return html`<${View} key=${path} args=${args} />`;
  }
  return html`<${Empty} whole title="There is no such page" help="The address may be misspelt."><a class="button" href="/console">Open the playground</a><//>`;
}

function App() {
  useEffect(() => void load(), []);
  if (problem.value && !overview.value) return html`<main class="sign-in"><h1>The console cannot start</h1><${FaultText} fault=${problem.value} /><button onClick=${load}>Try again</button></main>`;
  if (!session.value) return html`<main class="sign-in" aria-busy="true"><h1 class="quiet">Opening…</h1></main>`;
  if (!overview.value) return html`<${SignIn} />`;
  // Another person gets a page of their own. Who was signed out finds what was typed as it was.
  return html`<${Shell} key=${overview.value.caller.subject}>${signedOut.value && html`<${SignedOut} />`}<${Current} /><//>`;
}

render(html`<${App} />`, document.getElementById("app"));

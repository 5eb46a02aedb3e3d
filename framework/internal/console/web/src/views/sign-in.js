import { html, useSignal } from "../html.js";
import { session, problem, load } from "../session.js";
import { post } from "../api.js";
import { notify, Notices } from "../notice.js";
import { FaultText } from "../parts/fault.js";

const Instead = ({ children }) => html`<details><summary>Use a token instead</summary>${children}</details>`;

// Ways are how a person can sign in. beside: in another tab, as far as the way leads away from the page.
function Ways({ beside }) {
  const token = useSignal(""), fault = useSignal(null), printed = useSignal(false), busy = useSignal(false);
  const { app, by, issuer } = session.value;
  const there = "/console/sign-in/issuer?to=" + encodeURIComponent(location.pathname + location.search);
  const attempt = (work) => async (e) => {
    e.preventDefault();
    busy.value = true;
    fault.value = null;
    try {
      await work();
    } catch (f) {
      fault.value = f;
    }
    busy.value = false;
  };
  const print = attempt(async () => {
    await post("/console/link");
    printed.value = true;
  });
  const withToken = attempt(async () => {
    await post("/console/session", { token: token.value });
    token.value = "";
    await load();
    if (problem.value) throw problem.value;
    notify("Signed in.");
  });
  return html`${by === "link" ? html`
      <p>${app} printed a link where it runs, on standard error: a line that begins with <code>Console:</code>. Open that link in this browser. It works once.</p>
      <button class="primary" onClick=${print} disabled=${busy.value}>Print a new link</button>
      ${printed.value && html`<p role="status" class="good-text">A link was printed where ${app} runs.</p>`}`
    : html`${by === "issuer" && html`<p>The console can do what you may do, and nothing else.</p>
      <a class="button primary" data-leaves target=${beside ? "_blank" : undefined} href=${there}>Sign in with ${issuer}</a>`}
      <${by === "issuer" ? Instead : "div"}><form onSubmit=${withToken}>
      <p>Use an access token of this server. The console can do what the token can do, and nothing else.</p>
      <label for="token">Token</label>
      <input id="token" type="password" autocomplete="current-password" value=${token.value} onInput=${(e) => (token.value = e.target.value)} required />
      <button class="primary" disabled=${busy.value}>Sign in</button>
    </form><//>`}
    <${FaultText} fault=${fault.value} />`;
}

export function SignIn() {
  const { app } = session.value;
  document.title = "Sign in · " + app;
  return html`<main class="sign-in">
    <p class="brand"><span class="mark" aria-hidden="true">K</span>${app}</p>
    <h1>Sign in to the console</h1>
    <${Ways} /><${Notices} />
  </main>`;
}

// SignedOut stands above a view whose session has ended. The view stays as it is: somebody may be typing.
export const SignedOut = () => html`<section class="panel warn signed-out" role="alert" aria-label="Signed out">
  <p><strong>You are signed out.</strong> What you typed stays on this page. Sign in, here or in another tab, and go on.</p>
  <${Ways} beside /></section>`;

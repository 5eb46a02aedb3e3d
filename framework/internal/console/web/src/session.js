// Who has signed in, and what that person may see of the app.
import { signal, computed } from "./html.js";
import { get, request, signedOut } from "./api.js";

export const session = signal(null); // null until it is known
export const overview = signal(null); // stays when the session ends by itself: so does what was typed
export const problem = signal(null);

// Tabs of one browser have one session.
const tabs = new BroadcastChannel("koan.session");

export async function load() {
  try {
    const s = await get("/console/session");
    if (s.signedIn) {
      overview.value = await get("/api/console/overview");
      if (!session.peek()?.signedIn || signedOut.peek()) tabs.postMessage("in");
    }
    session.value = s;
    signedOut.value = !s.signedIn;
    problem.value = null;
  } catch (e) {
    problem.value = e;
  }
}

export async function signOut() {
  await request("DELETE", "/console/session").catch(() => {});
  tabs.postMessage("out");
  await forget();
}

// forget leaves nothing on the page of what the person saw.
async function forget() {
  overview.value = null;
  await load();
}

// again looks whether somebody has signed in elsewhere since the session has ended.
const again = () => document.visibilityState === "visible" && signedOut.value && overview.value && load();
tabs.onmessage = ({ data }) => (data === "out" ? forget() : signedOut.value && load());
addEventListener("focus", again);
document.addEventListener("visibilitychange", again);

export const entities = computed(() => overview.value?.entities || []);
export const entity = (name) => entities.value.find((e) => e.name === name);
export const may = (e, ...operations) => operations.some((o) => e.operations.includes(o));

// mayMake reports whether one may make rows of an entity, with either operation that does.
export const mayMake = (e) => may(e, "upsert", "create");
// where calls go that name no set: for whoever may name one alone, that one.
export const defaultSet = () => overview.value?.caller.defaultSet || "default";
export const scope = (name) => overview.value?.caller.scopes.includes(name);
// all is what "*" grants too, which is every scope but that to approve.
export const operator = computed(() => scope("koan:journal") || scope("*"));

// Who has signed in, and what that person may see of the app.
import { signal, computed, effect } from "./html.js";
import { get, request, signedOut } from "./api.js";

export const session = signal(null); // null until it is known
export const overview = signal(null);
export const problem = signal(null);

export async function load() {
  try {
    const s = await get("/console/session");
    if (s.signedIn) overview.value = await get("/api/console/overview");
    session.value = s;
    signedOut.value = false;
    problem.value = null;
  } catch (e) {
    problem.value = e;
  }
}

export async function signOut() {
  await request("DELETE", "/console/session").catch(() => {});
  overview.value = null;
  await load();
}

effect(() => {
  if (signedOut.value && session.peek()?.signedIn) session.value = { ...session.peek(), signedIn: false };
});

export const entities = computed(() => overview.value?.entities || []);
export const entity = (name) => entities.value.find((e) => e.name === name);
export const may = (e, ...operations) => operations.some((o) => e.operations.includes(o));
export const scope = (name) => overview.value?.caller.scopes.includes(name);
// all is what "*" grants too, which is every scope but that to approve.
export const operator = computed(() => scope("koan:journal") || scope("*"));

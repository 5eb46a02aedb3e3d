// How many plans wait for the person who has signed in.
import { signal, useEffect } from "./html.js";
import { get } from "./api.js";
import { scope } from "./session.js";
import { useLive } from "./live.js";

export const waiting = signal(0);

export async function countPlans() {
  if (!scope("koan:approve")) return;
  try {
    waiting.value = (await get("/api/console/plans")).plans.length;
  } catch {
    // the view of plans says why
  }
}

export function watchPlans() {
  useEffect(() => void countPlans(), []);
  useLive(countPlans, [], 10000);
}

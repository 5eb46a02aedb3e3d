// Live is how views learn that something may have changed. It is the one module that knows how: of
// rows from the stream of changes, of runs and plans by asking now and again.
import { useEffect, useRef } from "./html.js";
import { stream, events, signedOut } from "./api.js";
import { defaultSet } from "./session.js";

const awake = () => document.visibilityState === "visible" && !signedOut.value;

// useLive calls refresh now and again while the page is visible, and at once when it becomes so.
export function useLive(refresh, deps = [], every = 4000) {
  useEffect(() => {
    const look = () => awake() && refresh();
    const timer = setInterval(look, every);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, deps);
}

// useAgain calls work when somebody has signed in again whose session had ended: what failed for that is asked anew.
export function useAgain(work) {
  const latest = useRef();
  latest.current = work;
  useEffect(() => {
    let was = false;
    return signedOut.subscribe((is) => {
      if (was && !is) latest.current();
      was = is;
    });
  }, []);
}

// useLatest returns a function to call before a request, which gives one to call with its answer: whether that
// may be shown. It may not once the view asks for something else (key) or shows a later answer.
export function useLatest(key) {
  const wanted = useRef(key), asked = useRef(0), shown = useRef(0);
  wanted.current = key;
  return () => {
    const n = ++asked.current;
    return () => {
      if (wanted.current !== key || n < shown.current) return false;
      shown.current = n;
      return true;
    };
  };
}

const pause = 3000; // ms, between two streams
const settle = 150; // ms, in which changes are taken together

// useChanges calls refresh after each commit that changed an entity in a set. Only a page that is visible has a
// stream: browsers open six connections to a host and no more, for all tabs together.
export function useChanges(entity, set, refresh) {
  const latest = useRef();
  latest.current = refresh;
  useEffect(() => {
    let last = "", begun = false, due, open;
    const soon = () => {
      clearTimeout(due);
      due = setTimeout(() => latest.current(), settle);
    };
    const follow = async (signal) => {
      while (!signal.aborted) {
        try {
          const query = new URLSearchParams({ entity, set: set || defaultSet(), ...(last && { lastEventId: last }) });
          const opened = await stream("/api/events?" + query, { signal });
          if (begun) soon(); // what changed in between may be told by nobody
          begun = true;
          for await (const event of events(opened)) {
            if (event.id) last = event.id;
            if (event.name === "change" || event.name === "error") soon();
          }
        } catch (e) {
          if (signal.aborted || e.status === 401) return;
          if (e.status === 410) { // what follows is not kept any more: the rows are read again
            last = "";
            soon();
          } else if (e.status >= 400 && e.status < 500) {
            console.warn("changes:", e.message);
            return;
          }
        }
        await new Promise((done) => setTimeout(done, pause));
      }
    };
    const look = () => {
      if (awake() === Boolean(open)) return;
      open?.abort();
      open = awake() ? new AbortController() : null;
      if (open) follow(open.signal);
    };
    const off = signedOut.subscribe(look);
    document.addEventListener("visibilitychange", look);
    return () => {
      off();
      document.removeEventListener("visibilitychange", look);
      open?.abort();
      clearTimeout(due);
    };
  }, [entity, set]);
}

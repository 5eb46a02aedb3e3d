// Live is how views learn that something may have changed. It is the one module that knows how: of
// rows from the stream of changes, of runs and plans by asking now and again.
import { useEffect } from "./html.js";
import { stream, events } from "./api.js";

// useLive calls refresh now and again while the page is visible, and at once when it becomes so.
export function useLive(refresh, deps = [], every = 4000) {
  useEffect(() => {
    const look = () => document.visibilityState === "visible" && refresh();
    const timer = setInterval(look, every);
    document.addEventListener("visibilitychange", look);
    return () => {
      clearInterval(timer);
      document.removeEventListener("visibilitychange", look);
    };
  }, deps);
}

const pause = 3000; // ms, between two streams
const settle = 150; // ms, in which changes are taken together

// useChanges calls refresh after each commit that changed an entity in a set.
export function useChanges(entity, set, refresh, deps = []) {
  useEffect(() => {
    const end = new AbortController();
    let last = "", due;
    const soon = () => {
      clearTimeout(due);
      due = setTimeout(refresh, settle);
    };
    const follow = async () => {
      while (!end.signal.aborted) {
        try {
          const query = new URLSearchParams({ entity, set: set || "default", ...(last && { lastEventId: last }) });
          for await (const event of events(await stream("/api/events?" + query, { signal: end.signal }))) {
            if (event.id) last = event.id;
            if (event.name === "change" || event.name === "error") soon();
          }
        } catch (e) {
          if (end.signal.aborted || e.status === 401) return;
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
    follow();
    return () => {
      end.abort();
      clearTimeout(due);
    };
  }, deps);
}

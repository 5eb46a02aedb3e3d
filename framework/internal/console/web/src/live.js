// Live is how views learn that data may have changed. It is the one module that knows how.
import { useEffect } from "./html.js";

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

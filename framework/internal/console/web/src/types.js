// The client of the worker that knows the types of scripts. It is started once, and told of the
// declarations when the catalog has changed.
import { text } from "./api.js";
import { overview } from "./session.js";

let worker, told, next = 1;
const waiting = new Map();

function ask(method, params) {
  return new Promise((resolve, reject) => {
    const id = next++;
    waiting.set(id, { resolve, reject });
    worker.postMessage({ id, method, params });
  });
}

async function ready() {
  if (!worker) {
    worker = new Worker("/console/assets/types.js", { type: "module" });
    worker.onmessage = ({ data: { id, result, error } }) => {
      const w = waiting.get(id);
      waiting.delete(id);
      error === undefined ? w?.resolve(result) : w?.reject(new Error(error));
    };
  }
  const version = overview.value?.catalog;
  if (told?.version !== version) {
    const done = text("/api/console/koan.d.ts").then((declarations) => ask("declare", { text: declarations }));
    told = { version, done };
    done.catch(() => (told = null));
  }
  await told.done;
}

// question asks the worker, once it is ready. It is null where types are not to be had: the
// editor works without.
export async function question(method, params) {
  try {
    await ready();
    const began = performance.now();
    const answer = await ask(method, params);
    performance.measure("types:" + method, { start: began });
    return answer;
  } catch (e) {
    console.warn("types:", e.message);
    return null;
  }
}

export const warm = () => void question("check", { text: "" });

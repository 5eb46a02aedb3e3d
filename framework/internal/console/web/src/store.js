// What the page remembers in this browser. A browser that keeps nothing is no error.
export function remember(key, value) {
  try {
    value === undefined ? localStorage.removeItem("koan." + key) : localStorage.setItem("koan." + key, JSON.stringify(value));
  } catch {
    // private windows
  }
}

export function recall(key, otherwise) {
  try {
    const text = localStorage.getItem("koan." + key);
    return text === null ? otherwise : JSON.parse(text);
  } catch {
    return otherwise;
  }
}

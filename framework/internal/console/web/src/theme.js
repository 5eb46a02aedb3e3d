// Dark or light: as the system says, unless a person chose.
import { signal, effect } from "./html.js";
import { recall, remember } from "./store.js";

export const choice = signal(recall("theme", "system"));
const system = matchMedia("(prefers-color-scheme: dark)");
const dark = signal(system.matches);
system.addEventListener("change", (e) => (dark.value = e.matches));

export const theme = { get value() { return choice.value === "system" ? (dark.value ? "dark" : "light") : choice.value; } };
export const toggle = () => (choice.value = theme.value === "dark" ? "light" : "dark");

effect(() => {
  document.documentElement.dataset.theme = theme.value;
  remember("theme", choice.value === "system" ? undefined : choice.value);
});

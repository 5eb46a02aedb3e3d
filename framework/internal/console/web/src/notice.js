// Short messages that go by themselves.
import { html, signal } from "./html.js";

const notices = signal([]);
let next = 0;

export function notify(message, mood = "good") {
  const id = next++;
  notices.value = [...notices.value, { id, message, mood }];
  setTimeout(() => (notices.value = notices.value.filter((n) => n.id !== id)), 6000);
}

export const Notices = () => html`<div class="notices" role="status" aria-live="polite">${notices.value.map((n) => html`<p key=${n.id} class=${"notice " + n.mood}>${n.message}</p>`)}</div>`;

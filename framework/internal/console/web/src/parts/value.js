import { html } from "../html.js";

// Times are shown as people say them, and whole on hover.
const day = new Intl.DateTimeFormat(undefined, { dateStyle: "medium", timeStyle: "short" });
const relative = new Intl.RelativeTimeFormat(undefined, { numeric: "auto" });
const units = [["day", 86400], ["hour", 3600], ["minute", 60], ["second", 1]];

function ago(at) {
  const s = (at - Date.now()) / 1000;
  if (Math.abs(s) > 7 * 86400) return day.format(at);
  const [unit, size] = units.find(([, n]) => Math.abs(s) >= n) || units[3];
  return relative.format(Math.round(s / size), unit);
}

export function Time({ at }) {
  const when = new Date(at);
  if (!at || isNaN(when)) return null;
  return html`<time datetime=${at} title=${when.toISOString()}>${ago(when)}</time>`;
}

export const ms = (n) => (n === undefined || n === null ? "" : n < 1 ? "<1 ms" : n < 1000 ? Math.round(n) + " ms" : n < 120_000 ? (n / 1000).toFixed(n < 10000 ? 2 : 1) + " s" : long(n / 60_000));
const long = (minutes) => (minutes < 120 ? Math.floor(minutes) + " min" : minutes < 2880 ? Math.floor(minutes / 60) + " h" : Math.floor(minutes / 1440) + " days");

// short is a value in a cell, in one line.
export function short(v, most = 80) {
  if (v === null || v === undefined) return "";
  const text = typeof v === "string" ? v : JSON.stringify(v);
  return text.length > most ? text.slice(0, most) + "…" : text;
}

export const pretty = (v) => (v === undefined ? "" : JSON.stringify(v, null, 2));

// JSONText is a value as JSON, in a block that scrolls.
export const JSONText = ({ value, label }) => html`<pre class="json" tabindex="0" role="region" aria-label=${label || "JSON"}>${typeof value === "string" ? JSON.stringify(value) : pretty(value)}</pre>`;

// Outcome is how a run ended.
export function Outcome({ run }) {
  const mood = run.outcome === "ok" ? "good" : run.outcome === "approval_required" || run.outcome === "cancelled" ? "warn" : "bad";
  return html`<span class=${"badge " + mood}>${run.outcome === "ok" ? (run.dryRun ? "dry run" : "ok") : run.outcome}</span>`;
}

// Counts are how many rows were created, updated and deleted.
export function Counts({ of }) {
  const parts = [["created", "+", "good"], ["updated", "~", "warn"], ["deleted", "−", "bad"]].filter(([k]) => of[k] > 0);
  if (!parts.length) return html`<span class="quiet">none</span>`;
  return parts.map(([k, sign, mood]) => html`<span class=${"delta " + mood} title=${of[k] + " " + k}><span aria-hidden="true">${sign}${of[k]}</span><span class="hidden">${of[k]} ${k} </span></span>`);
}

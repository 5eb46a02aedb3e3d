// What a plugin measures.

import { maxMetrics } from "./wire.js";

/** Something that a plugin counts or measures, which the app exports as koan.plugin.<domain>.<name>. */
export interface Metric {
  /** In snake_case, with the unit at its end: "cache_hits", "wait_seconds". */
  name: string;
  /** One sentence. */
  help?: string;
  /** Its values are spread over buckets; else they add up. */
  histogram?: boolean;
}

const snake = /^[a-z][a-z0-9]*(_[a-z0-9]+)*$/;
/** Prometheus gives these ends to names itself. */
const ends = /_(total|bucket|sum|count|created|info)$/;

/** Throws what is wrong with the metrics of a plugin. */
export function checkMetrics(metrics: readonly Metric[]): void {
  if (metrics.length > maxMetrics) throw new TypeError(`it has ${metrics.length} metrics; ${maxMetrics} are allowed`);
  const seen = new Set<string>();
  for (const { name } of metrics) {
    if (!snake.test(name) || name.length > 64 || ends.test(name)) {
      throw new TypeError(`the metric ${JSON.stringify(name)} is not in snake_case, or ends as Prometheus ends names itself`);
    }
    if (seen.has(name)) throw new TypeError(`the metric ${name} is declared twice`);
    seen.add(name);
  }
}

/** Whether a value is one of the metric's. */
export function takes(metric: Metric, value: number): boolean {
  return Number.isFinite(value) && (metric.histogram || value >= 0);
}

/** Something that a plugin counts or measures, which the app exports as koan.plugin.<domain>.<name>. */
export interface Metric {
    /** In snake_case, with the unit at its end: "cache_hits", "wait_seconds". */
    name: string;
    /** One sentence. */
    help?: string;
    /** Its values are spread over buckets; else they add up. */
    histogram?: boolean;
}
/** Throws what is wrong with the metrics of a plugin. */
export declare function checkMetrics(metrics: readonly Metric[]): void;
/** Whether a value is one of the metric's. */
export declare function takes(metric: Metric, value: number): boolean;

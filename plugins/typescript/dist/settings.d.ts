/** What a plugin says of a setting. One without a default must be configured. */
export interface Setting {
    /** Its type is the setting's: a text, a number, or true or false. */
    default?: string | number | boolean;
    help?: string;
    /** Its value is in no log, journal or fault of the app. */
    secret?: boolean;
    /** It names a file or folder that the plugin reads. */
    folder?: boolean;
}
type Widened<V> = V extends string ? string : V extends number ? number : V extends boolean ? boolean : string;
/** The values of settings. */
export type SettingsOf<D extends Record<string, Setting>> = {
    readonly [K in keyof D]: D[K] extends {
        default: infer V;
    } ? Widened<V> : string;
};
/** Returns the settings of the app's configuration. It throws the Fault that ends the app's start. */
export declare function fill<D extends Record<string, Setting>>(declared: D, given: Record<string, string>): SettingsOf<D>;
export {};

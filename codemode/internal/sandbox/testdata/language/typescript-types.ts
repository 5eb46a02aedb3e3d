// => [3,"b","A"]
import type { Whatever } from "somewhere";
interface Item { readonly id: string; qty?: number }
type Names = "a" | "b";
const items = [{ id: "x", qty: 3 }] satisfies Item[];
const tuple = ["a", "b"] as const;
function last<T>(list: readonly T[]): T { return list[list.length - 1]!; }
const name: Names = last(tuple);
const cast = (items[0] as Item).qty;
enum Letter { A = "A", B = "B" }
[cast, name, Letter.A];

// What scripts usually consist of, for rehearse.
interface Row {
  id: string;
  name?: string;
  tags: string[];
}
enum Kind {
  Dairy = "dairy",
  Other = "other",
}
type Groups = Map<Kind, Row[]>;
const limits = { most: 10, from: 0.5, flags: [true, false, null], big: 10n, pattern: /milk|egg/i };
class Basket<T extends Row> {
  #rows: T[] = [];
  private readonly name: string;
  constructor(name: string) {
    this.name = name;
  }
  add(row: T): this {
    this.#rows.push({ ...row, name: row.name ?? `${this.name} ${row.id}` });
    return this;
  }
  get size(): number {
    return this.#rows.length;
  }
}
const kind = (r: Row): Kind => (limits.pattern.test(r.name ?? "") ? Kind.Dairy : Kind.Other);
async function group(rows: Row[]): Promise<Groups> {
  const groups: Groups = new Map();
  for (const r of rows) {
    if (!r.tags?.length) continue;
    groups.set(kind(r), [...(groups.get(kind(r)) ?? []), r]);
  }
  for (let i = 0; i < rows.length; i++) {
    try {
      switch (rows[i]!.name) {
        case "x":
          break;
        default:
          delete (rows[i] as any).name;
      }
    } catch (e) {
      if (e instanceof TypeError && !(e as any).code) throw new Error("no", { cause: e });
    } finally {
      limits.most -= 1;
    }
  }
  return groups;
}
const page = SDK.Entities.Row.collection({ filter: { name: { $startsWith: "m" }, done: false }, sort: "-name", pageSize: 20 });
const [first, ...others] = Object.entries({ a: 1, b: 2 }).map(([name, n]) => ({ id: String(n), name, tags: ["x"] }) satisfies Row);
const basket = new Basket<Row>("all").add(first as Row);
export const total = others.reduce((sum, r) => sum + Number(r.id) ** 2, basket.size);
export function* each(rows: Row[]) {
  while (rows.length > 0) yield rows.pop();
}
for (const r of page.items) SDK.Entities.Row.patch(r.id, { name: r.name, tags: [...r.tags, "seen"] });
console.log("rows", page.items.length);
SDK.Out.answer(`${total} of ${page.items.length}`);
export default Object.fromEntries(await group([first, ...others, ...page.items]));

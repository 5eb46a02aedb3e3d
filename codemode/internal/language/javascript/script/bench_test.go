package script

import "testing"

// BenchmarkCompile compiles a script that the engine supports, and TypeScript and a module, which
// esbuild compiles first.
func BenchmarkCompile(b *testing.B) {
	const typed = `interface Item { id: string; name: string; amount?: number; expires: string }
type Groups = Record<string, Item[]>;
const soon: Item[] = [], late: Item[] = [];
const days = (n: number): number => n * 86_400_000;
for (const item of SDK.Entities.Item.all({ filter: { amount: { $gt: 0 } }, sort: "expires" }) as Item[]) {
  if (new Date(item.expires).getTime() - Date.now() < days(3)) {
    soon.push(item);
  } else {
    late.push({ ...item, name: item.name!.trim() });
  }
}
function grouped(items: Item[]): Groups {
  const groups: Groups = {};
  for (const item of items) {
    (groups[item.name] ??= []).push(item);
  }
  return groups;
}
const total: number = soon.reduce((sum, item) => sum + (item.amount ?? 1), 0);
return { total, soon: grouped(soon), late: late.length };`
	for name, code := range map[string]string{
		"Plain":      "SDK.Entities.Item.count()",
		"Return":     "const n = SDK.Entities.Item.count();\nreturn n + 1",
		"TypeScript": typed,
		"Module":     "import { detect } from '@codemode/servers/vision';\nexport default async () => (await detect({ path: SDK.args.path })).items;",
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if _, err := Compile(Source{Code: code, Modules: testModules{}}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

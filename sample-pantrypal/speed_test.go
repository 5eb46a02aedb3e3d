package main

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/sample-pantrypal/app"
)

const (
	reading = `for (let i = 0; i < SDK.args.calls; i++) SDK.Entities.Recipe.getById(SDK.args.id); 1`
	typed   = `interface Dish { id: string; name: string; tags: string[] }
enum Kind { Light = "light", Other = "other" }
const kind = (d: Dish): Kind => /salad|soup/i.test(d.name ?? "") ? Kind.Light : Kind.Other;
const dishes: Dish[] = [SDK.Entities.Recipe.getById(SDK.args.id)].map((r) => ({ id: r.id, name: r.name, tags: r.dietaryTags ?? [] }));
export default await Promise.resolve(dishes.map(kind));
`
	module = `interface Dish { id: string; name: string; tags: string[] }
enum Kind { Light = "light", Other = "other" }
const dishes: Dish[] = SDK.Entities.Recipe.collection({ pageSize: 20 }).items.map((r) => ({ id: r.id, name: r.name, tags: r.dietaryTags ?? [] }));
const kind = (d: Dish): Kind => /salad|soup/i.test(d.name ?? "") ? Kind.Light : Kind.Other;
const groups = new Map<Kind, Dish[]>();
for (const d of dishes) groups.set(kind(d), [...(groups.get(kind(d)) ?? []), d]);
export default await Promise.resolve([...groups.keys()]);
`
)

// BenchmarkScript runs scripts as the app does, from the call of koan.code.execute
// to its answer: no calls, 10 and 1,000 calls that read a recipe, a module in
// TypeScript that reads one, each time a new one or again the same, and one that
// reads a page of them. Each is a ratio to
// the same script with the same calls where it runs in the app's own process.
//
// A script runs in its caller's worker, and nothing else runs. rested-ms is the same
// script after 20 ms in which the machine had nothing to do: its caches are cold
// then and its cores asleep.
func BenchmarkScript(b *testing.B) {
	quiet := koantest.Setting{Key: "journal.enabled", Value: "false"}
	own, raw := koantest.NewConfined(b, app.New(), quiet), koantest.New(b, app.New(), quiet)
	ids := map[*koantest.Kit]string{}
	for _, k := range []*koantest.Kit{own, raw} {
		var id string
		k.Run(`SDK.Entities.Recipe.collection({ pageSize: 1 }).items[0].id`, koantest.Input{}).ResultInto(&id)
		ids[k] = id
	}
	scripts := 0 // that have run, whichever benchmark they belong to
	for _, c := range []struct {
		name, code string
		calls      int
		fresh      bool // no worker has seen the script
	}{
		{"0", reading, 0, false},
		{"10", reading, 10, false},
		{"1000", reading, 1000, false},
		{"ModuleNew", typed, 0, true},
		{"ModuleAgain", typed, 0, false},
		{"ModulePageNew", module, 0, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			timed := func(k *koantest.Kit, rest time.Duration) time.Duration {
				time.Sleep(rest)
				code := c.code
				if scripts++; c.fresh {
					code += fmt.Sprintf("// %d", scripts)
				}
				in, err := json.Marshal(map[string]any{"code": code, "args": map[string]any{"calls": c.calls, "id": ids[k]}})
				if err != nil {
					b.Fatal(err)
				}
				began := time.Now()
				out, err := k.Call("code::koan.execute", json.RawMessage(in))
				took := time.Since(began)
				if err != nil {
					b.Fatal(err, string(out))
				}
				return took
			}
			var ours, rested, theirs []time.Duration
			for range max(b.N, 100) {
				theirs = append(theirs, timed(raw, 0))
				ours = append(ours, timed(own, 0))
				rested = append(rested, timed(own, 20*time.Millisecond))
			}
			confined, inProcess := median(ours), median(theirs)
			b.ReportMetric(milliseconds(inProcess), "inprocess-ms")
			b.ReportMetric(milliseconds(confined), "confined-ms")
			b.ReportMetric(milliseconds(median(rested)), "rested-ms")
			b.ReportMetric(float64(confined)/float64(inProcess), "ratio")
			b.ReportMetric(0, "ns/op")
		})
	}
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

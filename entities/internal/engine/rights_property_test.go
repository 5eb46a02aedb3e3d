package engine_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/soak"
	specimen "github.com/koan-go/koan/tests/specimen/ent"
)

var rightsSeed = flag.Uint64("rights.seed", 0, "the one seed of TestRightsOfRelationships; 0 takes many")

// museum is one place with data, which the free app reads and writes without limits.
type museum struct {
	*testing.T
	at    string
	free  *app
	base  map[string][]string // entity -> ids
	count int
}

func newMuseum(t *testing.T) *museum {
	w := &museum{T: t, at: place(t), base: map[string][]string{}}
	w.free = startIn(t, w.at, specimen.Entities())
	for _, e := range beings {
		for range 3 {
			w.base[e] = append(w.base[e], w.make(e))
		}
	}
	for _, tie := range ties {
		if tie.at == own && tie.entity != "Visit" || tie.at == joint && !tie.never {
			value := any(w.base[tie.target][1])
			if tie.many {
				value = []any{value}
			}
			w.free.call(tie.entity+".patch", w.json(map[string]any{"id": w.base[tie.entity][0], "changes": map[string]any{tie.edge: value}}))
		}
	}
	return w
}

func (w *museum) json(v any) string { return string(encode(w, v)) }

// model is what a new entity needs.
func (w *museum) model(entity string) map[string]any {
	w.count++
	switch entity {
	case "Cabinet", "Visitor":
		return map[string]any{"name": "n"}
	case "Label":
		return map[string]any{"id": fmt.Sprint("l", w.count)}
	case "Plaque":
		return map[string]any{"text": "t"}
	case "Slot":
		return map[string]any{"shelf": "S", "place": w.count}
	case "Visit":
		return map[string]any{"reason": "r", "visitorId": w.make("Visitor"), "cabinetId": w.make("Cabinet")}
	}
	return map[string]any{}
}

// make creates an entity that nothing is tied to.
func (w *museum) make(entity string) string {
	return w.free.call(entity+".upsert", w.json(map[string]any{"model": w.model(entity)}))["id"].(string)
}

// tied are the ids at the other end of a tie.
func (w *museum) tied(t tie, id string) []string {
	return ends(w.free.call(t.entity+".get-by-id", w.json(map[string]any{"id": id, "with": t.edge}))[t.edge])
}

func ends(v any) []string {
	out := []string{}
	switch v := v.(type) {
	case map[string]any:
		out = append(out, v["id"].(string))
	case []any:
		for _, one := range v {
			out = append(out, one.(map[string]any)["id"].(string))
		}
	}
	slices.Sort(out)
	return out
}

// trial is one caller before one court.
type trial struct {
	*museum
	court
	app    *app
	invoke func(op, input string) (json.RawMessage, error)
}

func (t *trial) call(op, input string) (map[string]any, error) {
	out, err := t.invoke(op, input)
	if err != nil {
		return nil, err
	}
	var m map[string]any
	require.NoError(t.T, json.Unmarshal(out, &m))
	return m, nil
}

// expect makes a call that has to be allowed, or refused. Where the operation itself
// cannot be called it is unknown.
func (t *trial) expect(allowed bool, op, input string, refusal ...fault.Code) map[string]any {
	t.Helper()
	entity, name, _ := strings.Cut(op, ".")
	out, err := t.call(op, input)
	about := []any{"%s %s, script %v only %v: %v", op, input, t.script, t.only, err}
	switch {
	case !t.can(entity, name):
		require.Equal(t.T, fault.ToolNotFound, fault.CodeOf(err), about...)
	case allowed:
		require.NoError(t.T, err, about...)
	default:
		require.Contains(t.T, append(refusal, fault.InvalidPayload), fault.CodeOf(err), about...)
	}
	return out
}

func (t *trial) reading(x tie) {
	base := map[string]any{"id": map[string]any{"$in": t.base[x.entity]}}
	seen := t.visible(x)
	for _, in := range []map[string]any{{"filter": base, "with": x.edge}, {"filter": base, "fields": x.edge + ".id"}} {
		got := t.expect(seen, x.entity+".collection", t.json(in))
		if got == nil {
			continue
		}
		for _, item := range got["items"].([]any) {
			row := item.(map[string]any)
			require.Equal(t.T, t.tied(x, row["id"].(string)), ends(row[x.edge]), "%v", x)
		}
	}
	filters := map[string]any{"$and": []any{base, map[string]any{x.edge: map[string]any{"$exists": true}}}}
	if got := t.expect(seen, x.entity+".count", t.json(map[string]any{"filter": filters})); got != nil {
		require.Equal(t.T, t.free.call(x.entity+".count", t.json(map[string]any{"filter": filters}))["count"], got["count"])
	}
	t.expect(seen && x.at == own, x.entity+".aggregate", t.json(map[string]any{"groupBy": x.edge}))
	for _, next := range ties {
		if next.entity == x.target {
			inner := any(map[string]any{next.edge: map[string]any{"$exists": true}})
			if x.many {
				inner = map[string]any{"$some": inner}
			}
			t.expect(seen && t.visible(next), x.entity+".count", t.json(map[string]any{"filter": map[string]any{x.edge: inner}}))
			t.expect(seen && t.visible(next), x.entity+".collection", t.json(map[string]any{"with": x.edge + "." + next.edge, "filter": base}))
		}
	}
}

func (t *trial) all(entity string) {
	var want []string
	for _, x := range ties {
		if x.entity == entity && t.visible(x) {
			want = append(want, x.edge)
		}
	}
	got := t.expect(len(want) > 0, entity+".get-by-id", t.json(map[string]any{"id": t.base[entity][0], "fields": "id", "with": "all"}))
	if got == nil {
		return
	}
	delete(got, "id")
	for _, edge := range want {
		require.Contains(t.T, got, edge)
	}
	require.Len(t.T, got, len(want), "%v, not %v", got, want)
}

func (t *trial) writing(x tie) {
	when := t.writable(x)
	value := func(id string) any {
		if x.many {
			return map[string]any{"$add": []string{id}}
		}
		return id
	}
	taken := x.target == "Visit" // which belongs to somebody already
	id, other := t.make(x.entity), t.make(x.target)
	before := t.tied(x, id)
	out, err := t.call(x.entity+".patch", t.json(map[string]any{"id": id, "changes": map[string]any{x.edge: value(other)}}))
	switch {
	case !t.can(x.entity, "patch"):
		require.Equal(t.T, fault.ToolNotFound, fault.CodeOf(err))
	case when == "always" && taken:
		require.Equal(t.T, fault.Conflict, fault.CodeOf(err), "%v %v", x, err)
	case when == "always":
		require.NoError(t.T, err, "%v %v %v", x, t.law, out)
		require.Contains(t.T, t.tied(x, id), other)
	default:
		require.Equal(t.T, fault.InvalidPayload, fault.CodeOf(err), "%v %s %v", x, when, err)
		require.Equal(t.T, before, t.tied(x, id))
	}
	if x.entity == "Visit" || x.target == "Visit" {
		return
	}
	m := t.model(x.entity)
	m[x.edge] = value(t.make(x.target))
	for _, op := range []string{"upsert", "upsert-many"} {
		input := map[string]any{"model": m}
		if op == "upsert-many" {
			other := t.model(x.entity)
			other[x.edge] = value(t.make(x.target))
			input = map[string]any{"models": []any{other}}
		}
		t.expect(when == "always" || when == "once", x.entity+"."+op, t.json(input))
	}
}

func (t *trial) deleting() {
	for _, f := range falls {
		parent, child := t.make(f.parent), t.make(f.child)
		if f.edge != "" {
			t.free.call(f.child+".patch", t.json(map[string]any{"id": child, "changes": map[string]any{f.edge: parent}}))
		} else {
			t.free.call(f.parent+".patch", t.json(map[string]any{"id": parent, "changes": map[string]any{f.tie: []string{child}}}))
		}
		may := t.updates(f.child) && t.field[f.key] != "read-only" && t.field[f.key] != "immutable" && !t.once[f.child+"."+f.edge]
		if f.cascade {
			may = t.deletes(f.child)
		}
		inputs := map[string]any{"delete": map[string]any{"id": parent}, "delete-many": map[string]any{"ids": []string{parent}}, "delete-by-query": map[string]any{"filter": map[string]any{"id": parent}}}
		op := removes[t.count%len(removes)]
		_, err := t.call(f.parent+"."+op, t.json(inputs[op]))
		there := t.free.call(f.parent+".count", t.json(map[string]any{"filter": map[string]any{"id": parent}}))["count"]
		about := []any{"%v %s, script %v only %v %v: %v", f, op, t.script, t.only, t.law, err}
		switch {
		case !t.can(f.parent, op):
			require.Equal(t.T, fault.ToolNotFound, fault.CodeOf(err), about...)
		case may:
			require.NoError(t.T, err, about...)
			require.EqualValues(t.T, 0, there)
			continue
		default:
			require.Equal(t.T, fault.Forbidden, fault.CodeOf(err), about...)
			known := t.law.hears(f.child)
			require.Equal(t.T, known, strings.Contains(err.Error(), f.child+" entities"), about...)
		}
		require.EqualValues(t.T, 1, there)
	}
}

// hears says whether the caller may know of an entity: whether he can do anything with
// it, whatever the mode shows.
func (l *law) hears(entity string) bool {
	plain := *l
	plain.mode, plain.server = map[string]exposure.Mode{}, exposure.Full
	return court{law: &plain}.canAny(entity, slices.Concat(looks, changes, removes)...)
}

// described compares what is written about the entities with the court.
func (t *trial) described() {
	surface := catalog.SurfaceTools
	if t.script {
		surface = catalog.SurfaceScript
	}
	at := t.app.view.At(surface)
	bound, scripts := map[string][]string{}, t.app.withCodeMode()
	if t.script {
		bound = scripts.relationships()
	}
	for _, x := range ties {
		if r := at.Resource(x.entity); r != nil {
			e := r.Edge(x.edge)
			require.Equal(t.T, t.visible(x), e != nil && !e.WriteOnly, "%v", x)
		}
		if op := at.Operation(catalog.EntityID(x.entity, "collection")); op != nil {
			var in struct {
				Properties struct {
					Filter struct{ Properties map[string]any }
				}
			}
			require.NoError(t.T, json.Unmarshal(op.Input, &in))
			_, there := in.Properties.Filter.Properties[x.edge]
			require.Equal(t.T, t.visible(x), there, "%v", x)
		}
		if op := at.Operation(catalog.EntityID(x.entity, "upsert")); op != nil {
			var in struct {
				Properties struct {
					Model struct{ Properties map[string]map[string]any }
				}
			}
			require.NoError(t.T, json.Unmarshal(op.Input, &in))
			said, there := in.Properties.Model.Properties[x.edge]
			require.Equal(t.T, t.writable(x) != "", there, "%v", x)
			require.Equal(t.T, t.writable(x) == "never", said["readOnly"] == true, "%v", x)
		}
		if edges, there := bound[x.entity]; t.script && there {
			if edges != nil { // or nothing is read of it
				require.Equal(t.T, t.visible(x), slices.Contains(edges, x.edge), "%v", x)
			}
			types := scripts.found(x.entity)
			require.Equal(t.T, t.visible(x), strings.Contains(cutOut(types, "type "+x.entity+"Relationship", "\n"), `"`+x.edge+`"`), "%v", x)
		}
	}
}

// TestRightsOfRelationships compares the engine with a plain evaluation of the rule of
// relationships and of cascades, for random rights over every shape of edge: what is
// allowed, what is refused, what is seen, and what is written about it. A failure names
// its seed; -rights.seed repeats one.
func TestRightsOfRelationships(t *testing.T) {
	t.Parallel()
	if forEach(t, TestRightsOfRelationships) {
		return
	}
	rounds := soak.Rounds(10, 30)
	if postgres(t) {
		rounds = soak.Rounds(3, 8)
	}
	first := uint64(1000)
	if *rightsSeed != 0 {
		first, rounds = *rightsSeed, 1
	}
	t.Logf("seeds %d to %d", first, first+uint64(rounds)-1)
	w := newMuseum(t)
	for seed := first; seed < first+uint64(rounds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := *w
			w.T, w.count = t, int(seed)*10_000
			free := *w.free
			free.TB, w.free = t, &free
			r := rand.New(rand.NewPCG(seed, 1))
			l := randomLaw(r)
			a := startIn(t, w.at, l.annotate(specimen.Entities())).seenBy(l.server, l.scopes...)
			for _, script := range []bool{false, true} {
				c := court{law: l, script: script}
				tr := &trial{museum: &w, court: c, app: a}
				tr.described()
				if script && r.IntN(2) == 0 {
					tr.only = []string{}
					for _, e := range beings {
						if r.IntN(3) > 0 {
							tr.only = append(tr.only, e)
						}
					}
				}
				if tr.invoke = a.tool; script {
					tr.invoke = a.scripts(run.Spec{Atomic: true, Only: tr.only})
				}
				tr.deleting()
				for _, e := range beings {
					tr.all(e)
				}
				for _, i := range r.Perm(len(ties))[:8] {
					tr.reading(ties[i])
					tr.writing(ties[i])
				}
			}
		})
	}
}

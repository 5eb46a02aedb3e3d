// Package office tests who sees what of runs: in a whole app with policies, interceptors, fields that
// need scopes, and fields that nobody reads.
package office

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/observe"
	"github.com/koan-go/koan/tests/office/ent"
	"github.com/koan-go/koan/tests/office/ent/intercept"
	"github.com/koan-go/koan/tests/office/ent/person"
	"github.com/koan-go/koan/tests/office/ent/privacy"
	_ "github.com/koan-go/koan/tests/office/ent/runtime"
	"github.com/koan-go/koan/tests/office/viewer"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

var worldsSeed = flag.Uint64("worlds.seed", 0, "the one seed of TestWorldsLookAlike; 0 takes several")

// Two worlds are alike in all that Ann may see: her documents, badges without their keys, people
// without their pay. In what she may not see they differ: what Bob's documents say, the keys,
// the pay, the lines of the log, and what others do to all of these.
var secrets = [2]struct {
	key, pin, title string
	pay, more       int // more is how many documents Bob has besides
}{{"1234", "0000", "alpha", 70, 2000}, {"9876", "1111", "omega", 71, 0}}

// whoLeft hides people who have left, as an app would at run time.
var whoLeft = ent.OnClient(func(c *ent.Client) {
	c.Person.Intercept(intercept.TraversePerson(func(ctx context.Context, q *ent.PersonQuery) error {
		if v, _ := viewer.From(ctx); !v.Admin {
			q.Where(person.Left(false))
		}
		return nil
	}))
})

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	require.NoError(t, err)
	return string(b)
}

func place(t testing.TB) string {
	if pgtest.Here(t) {
		return pgtest.Place(t)
	}
	return "sqlite://" + t.TempDir()
}

// twinWorld is one of them.
type twinWorld struct {
	*koantest.Kit
	t      *testing.T
	number int
	ann    *koantest.Kit
	who    auth.Principal
	runs   []string // of Ann's operations, as far as they had one
	// foreign is the id of somebody else's run, which only one of the worlds has.
	foreign string

	// Of what Ann reads over HTTP.
	url, lastID string
	marks       int
}

// touch writes with the app's rights what its caller may not read, and reads it, too.
const touch = `
	export const action = { description: "Touches everything.", rights: "app", scopes: ["office:touch"], input: { type: "object", properties: { fail: { type: "boolean" } } } };
	export default ({ fail }) => {
		const E = SDK.Entities, b1 = E.Document.getById("b1"), bob = E.Person.getById("2");
		E.Document.patch("b1", { title: b1.title + "!" });
		E.Document.patch("a1", { pages: 7 });
		E.Person.patch("2", { pay: bob.pay + 1 });
		E.Badge.patch("k1", { key: b1.title.startsWith("alpha") ? "1234" : "9876", pin: "0000" });
		E.Entry.upsert({ id: SDK.run.id.slice(-12), text: b1.title });
		try { E.Document.getById(b1.title) } catch (e) { SDK.Out.warn(e.message) }
		if (fail) throw new Error("no");
		return "done";
	};`

func newWorld(t *testing.T, at string, number int, settings ...koantest.Setting) *twinWorld {
	t.Helper()
	// elevate decides about the app's policies by itself, as code of an app may.
	elevate := framework.Action("elevate", "Writes past the policies.", func(ctx context.Context, c framework.Call, _ struct{}) (struct{}, error) {
		ctx = viewer.With(privacy.DecisionContext(ctx, privacy.Allow), viewer.Viewer{Admin: true})
		return struct{}{}, c.Invoke(ctx, "koan::Document.patch", map[string]any{"id": "b2", "changes": map[string]any{"pages": 9}}, nil)
	}, framework.ActionScopes("office:touch"))
	w := &twinWorld{t: t, number: number}
	w.Kit = koantest.New(t, framework.App{
		Name: "office", Entities: ent.Entities(whoLeft), GoActions: []framework.GoAction{elevate},
		Actions: fstest.MapFS{"actions/touch.js": {Data: []byte(touch)}},
		Viewer: func(ctx context.Context, p auth.Principal) context.Context {
			if p.IsLocal() || strings.HasPrefix(p.Subject, "action::") {
				return viewer.With(ctx, viewer.Viewer{Admin: true})
			}
			return viewer.With(ctx, viewer.Viewer{Tenant: p.Subject})
		},
	}, append(settings, koantest.Setting{Key: "database", Value: at}, koantest.Setting{Key: "journal.enabled", Value: "true"})...)
	w.who = auth.Principal{Subject: "ann", Scopes: []string{catalog.ScopeWrite, "badge:read", "badge:write", "badge:delete", "office:touch"}, Sets: []string{"default"}}
	w.ann = w.As(w.who)
	s := secrets[number]
	setup := w.Run(fmt.Sprintf(`
		const E = SDK.Entities, s = %s;
		E.Person.upsertMany([{name: "Ann", email: "ann@x", pay: s.pay}, {name: "Bob", email: "bob@x", pay: s.pay}, {name: "Gone", email: "gone@x", left: true, pay: s.pay}]);
		E.Document.upsertMany([
			{id: "a1", tenant: "ann", title: "mine"}, {id: "a2", tenant: "ann", title: "also mine", author: "1"},
			{id: "b1", tenant: "bob", title: s.title, code: s.key}, {id: "b2", tenant: "bob", title: s.title, author: "2"}]);
		E.Document.patch("a1", {related: ["a2", "b1"]});
		for (const id of ["k1", "k2"]) E.Badge.upsert({id, number: "A-1", holder: "h", key: s.key, pin: s.pin});
		E.Entry.upsert({id: "e", text: s.title});
		for (let n = 0; n < s.more; n += 500) E.Document.upsertMany(Array.from({length: 500}, (_, i) => ({id: "h" + (n + i), tenant: "bob", title: s.title})));
	`, encode(t, map[string]any{"key": s.key, "pin": s.pin, "title": s.title, "pay": s.pay})), koantest.Input{})
	if w.foreign = setup.RunID; number == 1 {
		w.foreign = observe.NewRunID()
	}
	return w
}

// report reads what is kept of a run, as somebody may see it.
func (w *twinWorld) report(who auth.Principal, id string) (string, error) {
	s := w.Instance().Snapshot()
	text, err := s.Document(catalog.RunReportURI).Read(auth.With(context.Background(), who), s.View(who, exposure.Full, false), id)
	return string(text), err
}

// operation is something that Ann does; what she sees of it is its result.
type operation func(w *twinWorld, r *rand.Rand) string

func script(code string, more map[string]any) operation {
	return func(w *twinWorld, r *rand.Rand) string {
		in := map[string]any{"code": code, "include": []string{"changes", "calls"}}
		for k, v := range more {
			in[k] = v
		}
		return w.see("code::koan.execute", in)
	}
}

func tool(id string, input map[string]any) operation {
	return func(w *twinWorld, r *rand.Rand) string { return w.see(id, input) }
}

// see makes a call as Ann, and returns all that she gets.
func (w *twinWorld) see(id string, input any) string {
	out, err := w.ann.Call(id, input)
	var got struct{ RunID string }
	if json.Unmarshal(out, &got) == nil && got.RunID != "" {
		w.runs = append(w.runs, got.RunID)
	}
	text := string(out)
	if err != nil {
		f := fault.From(err)
		text += fmt.Sprintf("\n%s %s | %s | %s | %s | %s", f.Code, f.Message, f.Hint, f.Path, f.Retry, encode(w.t, f.Details))
	}
	return text
}

func ofRun(do func(w *twinWorld, id string, r *rand.Rand) string) operation {
	return func(w *twinWorld, r *rand.Rand) string {
		n := r.IntN(1000)
		if len(w.runs) == 0 {
			return ""
		}
		return do(w, w.runs[n%len(w.runs)], r)
	}
}

var undoing = ofRun(func(w *twinWorld, id string, r *rand.Rand) string {
	return w.see("code::koan.undo", map[string]any{"runId": id, "dryRun": r.IntN(2) == 0, "onConflict": []string{"refuse", "skip"}[r.IntN(2)]})
})

// inWorlds is what others do: something else in each world.
func inWorlds(codes ...string) operation {
	return func(w *twinWorld, r *rand.Rand) string {
		w.Run(codes[w.number], koantest.Input{})
		return ""
	}
}

var operations = map[string]operation{
	"guess a key":             script(`SDK.Entities.Badge.patch("k1", {key: "1234"}).id`, nil),
	"guess another":           script(`SDK.Entities.Badge.patch("k1", {key: "9876", pin: "1111"}).id`, nil),
	"set a key":               script(`SDK.Entities.Badge.patch("k1", {key: "5555"}).id`, nil),
	"guess with a note":       script(`SDK.Entities.Badge.patch("k1", {key: "1234", note: "n"}).note`, nil),
	"guess pay":               script(`SDK.Entities.Person.patch("1", {pay: 70}).id`, nil),
	"make a badge":            script(`SDK.Entities.Badge.upsert({id: "k3", number: "A-2", holder: "h", key: "1234"}).id`, nil),
	"remove a badge":          script(`SDK.Entities.Badge.delete("k3") + SDK.Entities.Badge.delete("k2")`, nil),
	"write":                   script(`SDK.Entities.Document.patch("a1", {title: "T", related: ["a2"]}).version`, nil),
	"remove":                  script(`SDK.Entities.Document.delete("a2")`, nil),
	"touch":                   script(`SDK.Actions.touch({})`, nil),
	"touch, dry":              script(`SDK.Actions.touch({})`, map[string]any{"dryRun": true}),
	"touch, planned":          script(`SDK.Actions.touch({})`, map[string]any{"approval": "always"}),
	"touch and fail":          script(`try { SDK.Actions.touch({fail: true}) } catch (e) { e.message }`, nil),
	"touch and fail whole":    script(`SDK.Actions.touch({fail: true})`, nil),
	"elevate":                 script(`SDK.Actions.elevate({})`, nil),
	"elevate, dry":            script(`SDK.Actions.elevate({})`, map[string]any{"dryRun": true}),
	"call touch":              tool("action::touch", map[string]any{}),
	"read all":                script(`[SDK.Entities.Document.collection({with: "all"}), SDK.Entities.Person.collection({sort: "id"}), SDK.Entities.Badge.collection({})]`, nil),
	"count":                   script(`[SDK.Entities.Document.count(), SDK.Entities.Document.aggregate({sum: "pages", groupBy: "tenant"}), SDK.Entities.Person.count()]`, nil),
	"read pay":                tool("koan::Person.aggregate", map[string]any{"sum": "pay"}),
	"filter by a key":         tool("koan::Badge.count", map[string]any{"filter": map[string]any{"key": "1234"}}),
	"filter by a pin":         tool("koan::Badge.collection", map[string]any{"filter": map[string]any{"pin": map[string]any{"$startsWith": "0"}}}),
	"filter by pay":           tool("koan::Person.count", map[string]any{"filter": map[string]any{"pay": map[string]any{"$gte": 71}}}),
	"filter by pay over edge": tool("koan::Document.count", map[string]any{"filter": map[string]any{"author": map[string]any{"pay": 70}}}),
	"sort by pay":             tool("koan::Person.collection", map[string]any{"sort": "-pay"}),
	"search":                  tool("koan::Document.collection", map[string]any{"q": "alpha"}),
	"search over edges":       tool("koan::Document.count", map[string]any{"filter": map[string]any{"related": map[string]any{"$some": map[string]any{"title": "alpha"}}}}),
	"take a hidden code":      tool("koan::Document.upsert", map[string]any{"model": map[string]any{"id": "n", "tenant": "ann", "title": "x", "code": "5555"}}),
	"read hidden":             tool("koan::Document.get-by-id", map[string]any{"id": "b1"}),
	"write hidden":            tool("koan::Document.patch", map[string]any{"id": "b1", "changes": map[string]any{"title": "x"}}),
	"take a hidden id":        tool("koan::Document.upsert", map[string]any{"model": map[string]any{"id": "b1", "tenant": "ann", "title": "x"}}),
	"take a hidden address":   tool("koan::Person.upsert", map[string]any{"model": map[string]any{"name": "Me", "email": "gone@x"}}),
	"another version":         tool("koan::Document.patch", map[string]any{"id": "b1", "ifVersion": 1, "changes": map[string]any{"title": "x"}}),
	"undo":                    undoing,
	"undo again":              undoing,
	"undo once more":          undoing,
	"others set a key":        inWorlds(`SDK.Entities.Badge.patch("k1", {key: "1234"})`, `1`),
	"others change a row":     inWorlds(`1`, `SDK.Entities.Document.patch("b1", {title: "changed"}); SDK.Entities.Person.patch("2", {pay: 1})`),
	"others write to the log": inWorlds(`SDK.Entities.Entry.upsert({text: "x", id: "x" + SDK.run.id})`, `1`),
	"report": ofRun(func(w *twinWorld, id string, _ *rand.Rand) string {
		text, err := w.report(w.who, id)
		return fmt.Sprint(text, err)
	}),
	"status": ofRun(func(w *twinWorld, id string, _ *rand.Rand) string {
		return w.see("code::koan.status", map[string]any{"runId": id})
	}),
	"events": func(w *twinWorld, _ *rand.Rand) string { return w.events() },
	"undo another's run": func(w *twinWorld, _ *rand.Rand) string {
		return w.see("code::koan.undo", map[string]any{"runId": w.foreign})
	},
	"status of another's": func(w *twinWorld, _ *rand.Rand) string {
		return w.see("code::koan.status", map[string]any{"runId": w.foreign})
	},
	"report of another's": func(w *twinWorld, _ *rand.Rand) string {
		text, err := w.report(w.who, w.foreign)
		return fmt.Sprint(text, err)
	},
}

var (
	uuids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	times = regexp.MustCompile(`"(durationMs|timeMs|startedMs|cpuMs|wallMs|peakMemoryBytes|started|expiresAt|traceId|inputDigest|createdAt)":("[^"]*"|[0-9.]+)`)
)

// normal is what was seen without what is another at each run.
func (w *twinWorld) normal(text string, ids map[string]string) string {
	text = times.ReplaceAllString(text, `"$1":0`)
	return uuids.ReplaceAllStringFunc(text, func(id string) string {
		if ids[id] == "" {
			ids[id] = fmt.Sprintf("<%d>", len(ids))
		}
		return ids[id]
	})
}

// TestWorldsLookAlike makes the same random sequences of calls in two worlds, and compares
// everything that their caller sees. A failure names its seed; -worlds.seed repeats one.
func TestWorldsLookAlike(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestWorldsLookAlike) {
		return
	}
	first, rounds, steps := uint64(1), soak.Rounds(4, 12), 24
	if pgtest.Here(t) {
		rounds = soak.Rounds(1, 2)
	}
	if *worldsSeed != 0 {
		first, rounds = *worldsSeed, 1
	}
	names := make([]string, 0, len(operations))
	for name := range operations {
		names = append(names, name)
	}
	slices.Sort(names)
	for seed := first; seed < first+uint64(rounds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			w := walkWorlds(t, names, seed, steps)
			for n := 1; w.apart() >= 0 && n < mostWalks || n > 1 && n < leastWalks; n++ {
				w.add(walkWorlds(t, names, seed, steps))
			}
			if at := w.apart(); at >= 0 {
				t.Errorf("step %d (%s) takes longer in one world than in the other: %v and %v", at, w[at].name, w[at].took[0], w[at].took[1])
			}
		})
	}
}

// walk is how long a sequence of calls took, step by step, in each of the worlds, each time that it was
// made.
type walk []timedStep

type timedStep struct {
	name string
	took [2][]time.Duration
}

// A step that is over the limit once is made again, in two new worlds: at least so often, and, as long as it
// still is, at most so often. By then it is not the machine that was busy.
const leastWalks, mostWalks = 4, 24

// apart returns the first step whose times tell the worlds apart, and -1 if there is none: they differ by
// 50 ms in the middle, and three quarters of those in one world are longer than three quarters in the other.
func (w walk) apart() int {
	return slices.IndexFunc(w, func(s timedStep) bool {
		slow, fast := slices.Sorted(slices.Values(s.took[0])), slices.Sorted(slices.Values(s.took[1]))
		n := len(slow)
		if slow[n/2] < fast[n/2] {
			slow, fast = fast, slow
		}
		return slow[n/2]-fast[n/2] >= 50*time.Millisecond && slow[n/4] >= fast[n-1-n/4]
	})
}

// add adds the times of the same sequence.
func (w walk) add(other walk) {
	for i := range w {
		for k := range w[i].took {
			w[i].took[k] = append(w[i].took[k], other[i].took[k]...)
		}
	}
}

// walkWorlds makes one sequence in two new worlds, and compares what is seen at each step.
func walkWorlds(t *testing.T, names []string, seed uint64, steps int) (times walk) {
	worlds := [2]*twinWorld{newWorld(t, place(t), 0), newWorld(t, place(t), 1)}
	for _, w := range worlds {
		w.serve()
	}
	ids := [2]map[string]string{{}, {}}
	var done []string
	for step := range steps + 1 {
		pick := rand.New(rand.NewPCG(seed, uint64(step)))
		name := names[pick.IntN(len(names))]
		if step == steps {
			name = "events"
		}
		done = append(done, name)
		var seen [2]string
		var took [2][]time.Duration
		for i, w := range worlds {
			began := time.Now()
			text := operations[name](w, rand.New(rand.NewPCG(seed, uint64(1000+step))))
			spent := time.Since(began)
			if seen[i] = w.normal(text, ids[i]); text == "" {
				spent = 0 // what others do Ann does not see
			}
			took[i] = []time.Duration{spent}
		}
		times = append(times, timedStep{name, took})
		require.Equal(t, seen[0], seen[1], "after %s", strings.Join(done, ", "))
		for _, s := range secrets {
			require.NotContains(t, seen[0], s.title, "after %s", strings.Join(done, ", "))
		}
	}
	return times
}

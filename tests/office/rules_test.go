package office

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"

	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/office/ent"
	"github.com/koan-go/koan/tests/office/ent/intercept"
	"github.com/koan-go/koan/tests/office/ent/predicate"
	"github.com/koan-go/koan/tests/office/viewer"
	"github.com/koan-go/koan/tests/pgtest"
)

var rulesSeed = flag.Uint64("rules.seed", 0, "the one seed of TestRulesHoldEverywhere; 0 takes several")

// row is a row as the test knows it, by its columns.
type row map[string]any

// randomRule is a rule about rows, once for the database and once for Go.
type randomRule struct {
	text  string
	where func(*entsql.Selector)
	holds func(row) bool
}

// newRule makes a rule of comparisons, joined to a depth.
func newRule(r *rand.Rand, depth int, leaves []func(*rand.Rand) randomRule) randomRule {
	if depth == 0 || r.IntN(4) == 0 {
		return leaves[r.IntN(len(leaves))](r)
	}
	a, b := newRule(r, depth-1, leaves), newRule(r, depth-1, leaves)
	switch r.IntN(3) {
	case 0:
		return randomRule{"(" + a.text + " and " + b.text + ")", entsql.AndPredicates(a.where, b.where), func(x row) bool { return a.holds(x) && b.holds(x) }}
	case 1:
		return randomRule{"(" + a.text + " or " + b.text + ")", entsql.OrPredicates(a.where, b.where), func(x row) bool { return a.holds(x) || b.holds(x) }}
	}
	return randomRule{"not " + a.text, entsql.NotPredicates(a.where), func(x row) bool { return !a.holds(x) }}
}

func atLeast(column string, most int) func(*rand.Rand) randomRule {
	return func(r *rand.Rand) randomRule {
		n := r.IntN(most)
		return randomRule{fmt.Sprint(column, ">=", n), entsql.FieldGTE(column, n), func(x row) bool { return x[column].(int) >= n }}
	}
}

func isOne(column string, of ...string) func(*rand.Rand) randomRule {
	return func(r *rand.Rand) randomRule {
		some := slices.Clone(of)
		r.Shuffle(len(some), func(i, j int) { some[i], some[j] = some[j], some[i] })
		some = some[:1+r.IntN(len(some))]
		return randomRule{fmt.Sprint(column, " in ", some), entsql.FieldIn(column, some...), func(x row) bool { return slices.Contains(some, x[column].(string)) }}
	}
}

var (
	titles         = []string{"alpha", "beta", "gamma"}
	personLeaves   = []func(*rand.Rand) randomRule{atLeast("pay", 6), isOne("name", "Ann", "Bob", "Cid", "Dot", "Eve")}
	documentLeaves = []func(*rand.Rand) randomRule{atLeast("pages", 6), isOne("title", titles...), isOne("tenant", "ann", "bob")}
)

// ruledOffice is an office whose rows Ann may read by random rules.
type ruledOffice struct {
	*twinWorld
	people, documents map[string]row
	person, document  randomRule
	admin             bool // to whom the schema's own policy says nothing
}

// actions that work with the app's rights, whoever calls them.
const raise = `
	export const action = { description: "Adds pages to all documents.", rights: "app", input: { type: "object", properties: { by: { type: "integer" } } } };
	export default ({ by }) => { for (const d of SDK.Entities.Document.each({})) SDK.Entities.Document.patch(d.id, { pages: d.pages + by }); return "done"; };`

func newRuledOffice(t *testing.T, at string, r *rand.Rand) *ruledOffice {
	t.Helper()
	o := &ruledOffice{
		people: map[string]row{}, documents: map[string]row{}, admin: r.IntN(2) == 0,
		person: newRule(r, 2, personLeaves), document: newRule(r, 2, documentLeaves),
	}
	rules := ent.OnClient(func(c *ent.Client) {
		c.Person.Intercept(intercept.TraversePerson(func(ctx context.Context, q *ent.PersonQuery) error {
			if v, _ := viewer.From(ctx); v.Tenant == "ann" {
				q.Where(predicate.Person(o.person.where))
			}
			return nil
		}))
		c.Document.Intercept(intercept.TraverseDocument(func(ctx context.Context, q *ent.DocumentQuery) error {
			if v, _ := viewer.From(ctx); v.Tenant == "ann" {
				q.Where(predicate.Document(o.document.where))
			}
			return nil
		}))
	})
	o.twinWorld = &twinWorld{t: t, who: auth.Principal{Subject: "ann", Scopes: []string{catalog.ScopeWrite, catalog.ScopeAct}, Sets: []string{"default"}}}
	o.Kit = koantest.New(t, framework.App{
		Name: "office", Entities: ent.Entities(rules), Actions: fstest.MapFS{"actions/raise.js": {Data: []byte(raise)}},
		Viewer: func(ctx context.Context, p auth.Principal) context.Context {
			if p.IsLocal() || strings.HasPrefix(p.Subject, "action::") {
				return viewer.With(ctx, viewer.Viewer{Admin: true})
			}
			return viewer.With(ctx, viewer.Viewer{Tenant: p.Subject, Admin: o.admin})
		},
	}, koantest.Setting{Key: "database", Value: at}, koantest.Setting{Key: "journal.enabled", Value: "true"})
	o.ann = o.As(o.who)
	o.fill(r)
	return o
}

// fill stores random rows.
func (o *ruledOffice) fill(r *rand.Rand) {
	for i, name := range []string{"Ann", "Bob", "Cid", "Dot", "Eve"} {
		o.people[strconv.Itoa(i+1)] = row{"name": name, "pay": r.IntN(6)}
	}
	for i := range 12 {
		d := row{"tenant": []string{"ann", "ann", "bob"}[r.IntN(3)], "title": titles[r.IntN(3)], "pages": r.IntN(6), "folder": "f" + strconv.Itoa(r.IntN(4)), "related": []string{}}
		if n := r.IntN(7); n > 0 && n <= 5 {
			d["author"] = strconv.Itoa(n)
		}
		if i > 0 && r.IntN(2) == 0 {
			d["related"] = []string{"d" + strconv.Itoa(10+r.IntN(i))}
		}
		o.documents["d"+strconv.Itoa(10+i)] = d
	}
	o.Run(fmt.Sprintf(`
		const E = SDK.Entities, people = %s, documents = %s;
		for (const id of Object.keys(people).sort()) E.Person.create({...people[id], email: id + "@x"});
		for (let i = 0; i < 4; i++) E.Folder.create({id: "f" + i, name: "f"});
		for (const id of Object.keys(documents).sort()) E.Document.create({id, ...documents[id]});
	`, encode(o.t, o.people), encode(o.t, o.documents)), koantest.Input{})
	for _, id := range slices.Sorted(maps.Keys(o.documents)) { // the relationship is mutual
		for _, other := range slices.Clone(o.documents[id]["related"].([]string)) {
			to := append(slices.Clone(o.documents[other]["related"].([]string)), id)
			slices.Sort(to)
			o.documents[other]["related"] = slices.Compact(to)
		}
	}
}

func (o *ruledOffice) seesPerson(id any) bool {
	p := o.people[fmt.Sprint(id)]
	return p != nil && o.person.holds(p)
}

func (o *ruledOffice) sees(d row) bool {
	return o.document.holds(d) && (o.admin || d["tenant"] == "ann")
}

// seen returns the ids of the documents that Ann sees and that a condition is about.
func (o *ruledOffice) seen(is func(d row) bool) []string {
	out := []string{}
	for id, d := range o.documents {
		if o.sees(d) && is(d) {
			out = append(out, id)
		}
	}
	slices.Sort(out)
	return out
}

func every(row) bool { return true }

// reads asks in each way there is, and returns one object of all answers.
const reads = `
	const D = SDK.Entities.Document, P = SDK.Entities.Person, F = SDK.Entities.Folder;
	const ids = rows => rows.map(r => r.id).sort();
	const attempt = f => { try { return f() } catch (e) { return e.code } };
	const out = { get: {}, getPerson: {}, people: ids(P.collection({pageSize: 50}).items), relates: {}, removes: {}, refers: {}, hasMany: {} };
	for (const id of documents) out.get[id] = attempt(() => D.getById(id).id);
	for (const id of people) out.getPerson[id] = attempt(() => P.getById(id).id);
	out.collection = ids(D.collection({pageSize: 50}).items);
	out.total = D.collection({pageSize: 1, count: true}).totalCount;
	out.filtered = ids(D.collection({filter: {pages: {$gte: 3}}, pageSize: 50}).items);
	out.count = D.count();
	out.countBeta = D.count({title: "beta"});
	out.countByAuthor = D.count({author: {name: {$in: ["Ann", "Bob", "Cid"]}}});
	out.countByRelated = D.count({related: {$some: {title: "alpha"}}});
	out.writers = P.count({documents: {$some: {title: "alpha"}}});
	out.aggregate = D.aggregate({groupBy: "title", count: true, sum: "pages", sort: "title"}).map(r => [r.title, r.count, r.sumPages]);
	out.having = D.aggregate({groupBy: "title", count: true, having: {count: {$gte: 3}}, sort: "title"}).map(r => [r.title, r.count]);
	out.search = ids(D.collection({q: "gamma", pageSize: 50}).items);
	out.each = [...D.each({})].map(d => d.id).sort();
	for (const d of D.collection({with: "all", pageSize: 50}).items) out.relates[d.id] = [d.author?.id ?? null, ids(d.related ?? [])];
	for (const p of P.collection({with: {documents: true}, pageSize: 50}).items) out.hasMany[p.id] = ids(p.documents);
	out.patch = documents.filter(id => attempt(() => D.patch(id, {code: "c" + id}).id) === id);
	out.updated = D.updateByQuery({title: {$in: ["alpha", "beta"]}}, {code: null}, {maxAffected: 50});
	return out;`

func (o *ruledOffice) expectedReads() map[string]any {
	notFound := func(id string, seen bool) string {
		if seen {
			return id
		}
		return "not_found"
	}
	get, getPerson, relates, hasMany := map[string]any{}, map[string]any{}, map[string]any{}, map[string]any{}
	people, writers := []string{}, 0
	all := o.seen(every)
	for id := range o.people {
		getPerson[id] = notFound(id, o.seesPerson(id))
		if o.seesPerson(id) {
			people = append(people, id)
			hasMany[id] = o.seen(func(d row) bool { return d["author"] == id })
			if len(o.seen(func(d row) bool { return d["author"] == id && d["title"] == "alpha" })) > 0 {
				writers++
			}
		}
	}
	slices.Sort(people)
	for id, d := range o.documents {
		get[id] = notFound(id, o.sees(d))
	}
	aggregate, having := [][]any{}, [][]any{}
	for _, title := range titles {
		some := o.seen(func(d row) bool { return d["title"] == title })
		sum := 0
		for _, id := range some {
			sum += o.documents[id]["pages"].(int)
		}
		if len(some) > 0 {
			aggregate = append(aggregate, []any{title, len(some), sum})
		}
		if len(some) >= 3 {
			having = append(having, []any{title, len(some)})
		}
	}
	for _, id := range all {
		var author any
		if a, ok := o.documents[id]["author"]; ok && o.seesPerson(a) {
			author = a
		}
		related := slices.DeleteFunc(slices.Clone(o.documents[id]["related"].([]string)), func(id string) bool { return !o.sees(o.documents[id]) })
		relates[id] = []any{author, related}
	}
	titled := func(of ...string) func(row) bool {
		return func(d row) bool { return slices.Contains(of, d["title"].(string)) }
	}
	return map[string]any{
		"get": get, "getPerson": getPerson, "people": people, "collection": all, "total": len(all), "count": len(all), "each": all, "relates": relates, "hasMany": hasMany,
		"filtered": o.seen(func(d row) bool { return d["pages"].(int) >= 3 }), "countBeta": len(o.seen(titled("beta"))), "search": o.seen(titled("gamma")),
		"countByAuthor": len(o.seen(func(d row) bool {
			a, ok := d["author"]
			return ok && o.seesPerson(a) && slices.Contains([]string{"Ann", "Bob", "Cid"}, o.people[a.(string)]["name"].(string))
		})),
		"countByRelated": len(o.seen(func(d row) bool {
			return slices.ContainsFunc(d["related"].([]string), func(id string) bool {
				return o.sees(o.documents[id]) && o.documents[id]["title"] == "alpha"
			})
		})),
		"writers": writers, "aggregate": aggregate, "having": having,
		"patch": all, "updated": len(o.seen(titled("alpha", "beta"))),
	}
}

// try runs a script as Ann, and keeps nothing of it.
func (o *ruledOffice) try(code string) json.RawMessage {
	o.t.Helper()
	names := slices.Sorted(maps.Keys(o.documents))
	return o.ann.Run(fmt.Sprintf("const documents = %s, people = %s;%s", encode(o.t, names), `["1","2","3","4","5"]`, code), koantest.Input{DryRun: true}).Result
}

// TestRulesHoldEverywhere compares what somebody may read and write by random rules, in each way there
// is to read and to write, with what plain Go says of the same rows. A failure names its seed;
// -rules.seed repeats one.
func TestRulesHoldEverywhere(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRulesHoldEverywhere) {
		return
	}
	first, rounds := uint64(1), 12
	if pgtest.Here(t) {
		rounds = 3
	}
	if *rulesSeed != 0 {
		first, rounds = *rulesSeed, 1
	}
	for seed := first; seed < first+uint64(rounds); seed++ {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			o := newRuledOffice(t, place(t), rand.New(rand.NewPCG(seed, 1)))
			t.Logf("people: %s; documents: %s; admin: %v", o.person.text, o.document.text, o.admin)
			o.checkReads()
			o.checkWrites()
			o.checkReports()
		})
	}
}

func (o *ruledOffice) checkReads() {
	o.t.Helper()
	var got map[string]json.RawMessage
	require.NoError(o.t, json.Unmarshal(o.try(reads), &got))
	for name, want := range o.expectedReads() {
		require.JSONEq(o.t, encode(o.t, want), string(got[name]), name)
	}
}

// checkWrites looks at what a write would do to rows that it does not name: what goes with others, and
// what is referred to.
func (o *ruledOffice) checkWrites() {
	o.t.Helper()
	seen := o.seen(every)
	want := map[string]any{"deleted": len(seen), "kept": []string{}, "folders": map[string]bool{}, "links": seen, "taken": seen}
	authors := []string{}
	for _, id := range []string{"1", "2", "3", "4", "5"} {
		if o.seesPerson(id) {
			authors = append(authors, id)
		}
	}
	want["authors"] = authors
	for i := range 4 {
		folder := "f" + strconv.Itoa(i)
		may := true
		for _, d := range o.documents {
			may = may && (d["folder"] != folder || o.sees(d))
		}
		want["folders"].(map[string]bool)[folder] = may
	}
	out := o.try(`
		const D = SDK.Entities.Document, F = SDK.Entities.Folder, out = {folders: {}};
		const may = f => { try { f(); return true } catch (e) { return false } };
		const tried = f => { try { return f() } catch (e) { return e.code } };
		let n = 0;
		out.authors = people.filter(author => may(() => D.create({id: "n" + n++, tenant: "ann", title: "new", author})));
		out.links = documents.filter(id => may(() => D.create({id: "n" + n++, tenant: "ann", title: "new", related: [id]})));
		out.taken = documents.filter(id => may(() => D.upsert({id, code: "u" + id})));
		out.deleted = D.deleteByQuery({title: {$in: ["alpha", "beta", "gamma"]}}, {maxAffected: 99});
		out.kept = documents.filter(id => D.count({id}) > 0);
		return out;`)
	var got map[string]json.RawMessage
	require.NoError(o.t, json.Unmarshal(out, &got))
	folders := o.try(`
		const out = {};
		for (const id of ["f0", "f1", "f2", "f3"]) { try { out[id] = SDK.Entities.Folder.delete(id) === 1 } catch (e) { out[id] = false } }
		return out;`)
	got["folders"] = folders
	for name, want := range want {
		require.JSONEq(o.t, encode(o.t, want), string(got[name]), name)
	}
}

// checkReports has an action write to all documents with the app's rights: of that, Ann hears what her
// rules let her see before or after it, in the run's report, in events and from an undo.
func (o *ruledOffice) checkReports() {
	o.t.Helper()
	o.serve()
	before := map[string]bool{}
	for id, d := range o.documents {
		before[id] = o.sees(d)
	}
	result := o.ann.Run(`SDK.Actions.raise({by: 2})`, koantest.Input{Include: []string{"changes"}})
	wantReport, wantEvents := []string{}, []string{}
	for id, d := range o.documents {
		d["pages"] = d["pages"].(int) + 2
		switch is := o.sees(d); {
		case before[id] && is:
			wantEvents = append(wantEvents, "update "+id)
		case before[id]:
			wantEvents = append(wantEvents, "delete "+id)
		case is:
			wantEvents = append(wantEvents, "create "+id)
		default:
			continue
		}
		wantReport = append(wantReport, id)
	}
	var report, events []string
	for _, c := range result.Changes {
		if c.ID != "" {
			report = append(report, c.ID)
		}
		require.Equal(o.t, c.Before != nil, c.ID != "" && before[c.ID], c.ID)
	}
	require.Len(o.t, result.Changes, len(o.documents), "that there were others is said")
	require.ElementsMatch(o.t, wantReport, report, "report")
	for line := range strings.Lines(o.events()) {
		data, ok := strings.CutPrefix(line, "data ")
		var c struct{ Entity, ID, Action string }
		if ok && json.Unmarshal([]byte(data), &c) == nil && c.Entity == "Document" {
			events = append(events, c.Action+" "+c.ID)
		}
	}
	require.ElementsMatch(o.t, wantEvents, events, "events")

	// Somebody changes all of them once more, so that each row is a conflict.
	o.Run(`SDK.Actions.raise({by: 1})`, koantest.Input{})
	o.runs = nil
	undone := o.see("code::koan.undo", map[string]any{"runId": result.RunID, "dryRun": true, "onConflict": "refuse"})
	for id, d := range o.documents {
		d["pages"] = d["pages"].(int) + 1
		if !before[id] && !o.sees(d) {
			require.NotContains(o.t, undone, `"`+id+`"`, "undo")
		}
	}
}

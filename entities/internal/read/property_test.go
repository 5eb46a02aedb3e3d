package read_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// generator makes valid inputs.
type generator struct{ *rand.Rand }

func pick[T any](g generator, of ...T) T { return of[g.IntN(len(of))] }

func (g generator) value(f *catalog.Field) any {
	switch f.Type {
	case catalog.TypeString, catalog.TypeText:
		return library.Title(g.Rand)
	case catalog.TypeInt:
		if f.Name == "born" {
			return 1900 + g.IntN(4)
		}
		return g.IntN(5) - 1
	case catalog.TypeFloat:
		return float64(g.IntN(6)) / 4
	case catalog.TypeBool:
		return g.IntN(2) == 0
	case catalog.TypeTime:
		zone := time.FixedZone("", (g.IntN(5)-2)*3600)
		return library.Moment(g.Rand).In(zone).Format(time.RFC3339Nano)
	case catalog.TypeDay:
		return string(library.RandomDay(g.Rand))
	case catalog.TypeEnum:
		return pick(g, library.Genres...)
	case catalog.TypeUUID:
		return fmt.Sprintf("00000000-0000-0000-0000-00000000000%d", g.IntN(4))
	case catalog.TypeBytes:
		return string([]byte{byte(g.IntN(3))})
	case catalog.TypeDecimal:
		return pick[any](g, fmt.Sprintf("%d.%d", g.IntN(12), g.IntN(3)), g.IntN(12))
	case catalog.TypeID:
		if f.Name == "id" {
			return fmt.Sprintf("b%04d", g.IntN(60))
		}
		return pick[any](g, 1+g.IntN(8), fmt.Sprint(1+g.IntN(8)))
	case catalog.TypeJSON:
	}
	return nil
}

// otherCase makes a text, maybe in another case.
func (g generator) otherCase(f *catalog.Field) string {
	return pick(g, strings.ToUpper, strings.ToLower, func(s string) string { return s })(g.value(f).(string))
}

// json makes a condition on a field of JSON.
func (g generator) json(f *catalog.Field) any {
	scalar := func() any { return pick[any](g, 3, "3", "x", "oak", "OA", true, false, 1, 2.5, 1e300, "") }
	switch op := pick(g, f.Class().Operators()...); op {
	case "$null":
		return map[string]any{op: g.IntN(2) == 0}
	case "$has":
		if f.Name == "keywords" {
			return map[string]any{op: pick(g, "x", "y", "X")}
		}
		return map[string]any{op: scalar()}
	case "$all":
		return map[string]any{op: []any{"x", pick(g, "y", "x")}[g.IntN(2):]}
	case "$size":
		return map[string]any{op: g.IntN(5)}
	case "$path":
		at := pick(g, "shelf", "shelf.rows[0]", "shelf.kind", `"a.b"`, "tags", "[1]", "nope", "shelf.rows", "[0][0]", "[1].shelf", "big")
		return map[string]any{op: map[string]any{at: g.at(scalar)}}
	default:
		return map[string]any{op: nil}
	}
}

// at makes a condition on what stands at a path.
func (g generator) at(scalar func() any) any {
	op := pick(g, "", "$eq", "$ne", "$in", "$nin", "$lt", "$lte", "$gt", "$gte", "$between", "$ieq", "$iin", "$contains", "$icontains", "$startsWith", "$endsWith", "$null", "$has", "$all", "$size")
	switch op {
	case "":
		return scalar()
	case "$in", "$nin":
		return map[string]any{op: []any{scalar(), nil, scalar()}[:g.IntN(4)]}
	case "$lt", "$lte", "$gt", "$gte":
		return map[string]any{op: pick[any](g, 2, "x", 1.5, "3")}
	case "$between":
		return map[string]any{op: pick(g, []any{1, 3}, []any{"a", "p"}, []any{3, 1})}
	case "$contains", "$icontains", "$startsWith", "$endsWith":
		return map[string]any{op: pick(g, "o", "A", "3", "", "k")}
	case "$ieq":
		return map[string]any{op: pick(g, "OAK", "oak", "X", "")}
	case "$iin":
		return map[string]any{op: []any{pick(g, "OAK", "x"), "", "X"}[:g.IntN(4)]}
	case "$null":
		return map[string]any{op: g.IntN(2) == 0}
	case "$all":
		return map[string]any{op: []any{scalar(), "y"}[:g.IntN(3)]}
	case "$size":
		return map[string]any{op: g.IntN(5)}
	}
	return map[string]any{op: scalar()}
}

// words makes something to search for.
func (g generator) words() string {
	some := []string{"dune", "mess", "DUNE", "é", "été", "ÉTÉ", "100%", "cot", "b", "quote's", "s", "日", "本語", `back\slash`, "a_b", "e", "ly*n", "[a", "?"}
	out := pick(g, some...)
	if g.IntN(3) == 0 {
		out += " " + pick(g, some...)
	}
	return out
}

func (g generator) condition(f *catalog.Field) any {
	if f.Type == catalog.TypeJSON {
		return g.json(f)
	}
	orNull := func() any {
		if f.Nullable && g.IntN(4) == 0 {
			return nil
		}
		return g.value(f)
	}
	if g.IntN(4) == 0 {
		return orNull()
	}
	ops := map[string]any{}
	for range 1 + g.IntN(2) {
		op := pick(g, f.Class().Operators()...)
		switch op {
		case "$null":
			ops[op] = g.IntN(2) == 0
		case "$in", "$nin":
			list := []any{}
			for range g.IntN(4) {
				list = append(list, orNull())
			}
			ops[op] = list
		case "$between":
			ops[op] = []any{g.value(f), g.value(f)}
		case "$eq", "$ne":
			ops[op] = orNull()
		case "$ieq":
			ops[op] = g.otherCase(f)
		case "$iin":
			list := []any{}
			for range g.IntN(4) {
				list = append(list, g.otherCase(f))
			}
			ops[op] = list
		default:
			ops[op] = g.value(f)
		}
	}
	return ops
}

func (g generator) filter(entity string, depth int) map[string]any {
	e := graph.Entity(entity)
	out := map[string]any{}
	for range g.IntN(3) {
		fields := slices.DeleteFunc(slices.Clone(e.Resource.Fields), func(f catalog.Field) bool { return !filter.Readable(&f) })
		f := pick(g, append(fields, e.Resource.Key)...)
		if f.Name == "id" && entity != "Book" {
			out["id"] = map[string]any{"$in": []any{1 + g.IntN(5), fmt.Sprint(1 + g.IntN(5))}}
			continue
		}
		out[f.Name] = g.condition(&f)
	}
	if entity == "Book" && g.IntN(8) == 0 {
		out["$search"] = g.words()
	}
	if depth == 0 {
		return out
	}
	switch g.IntN(4) {
	case 0:
		op := pick(g, "$and", "$or", "$nor")
		list := []any{}
		for range 1 + g.IntN(3) {
			list = append(list, g.filter(entity, depth-1))
		}
		out[op] = list
	case 1:
		out["$not"] = g.filter(entity, depth-1)
	case 2:
		edges := filter.EdgeNames(e, graph)
		if len(edges) == 0 {
			break
		}
		edge := pick(g, edges...)
		target := e.Edge(edge).Target
		switch {
		case e.Resource.Edge(edge).Many && g.IntN(4) == 0:
			out[edge] = map[string]any{"$exists": g.IntN(2) == 0}
		case e.Resource.Edge(edge).Many:
			out[edge] = map[string]any{pick(g, "$some", "$every", "$none"): g.filter(target, depth-1)}
		case g.IntN(5) == 0:
			out[edge] = nil
		default:
			out[edge] = g.filter(target, depth-1)
		}
	}
	return out
}

// wide makes a filter of books that is more likely than others to match all of them.
func (g generator) wide() map[string]any {
	f := g.filter("Book", 3)
	switch g.IntN(4) {
	case 0:
		return map[string]any{"$or": []any{f, map[string]any{"$not": g.filter("Book", 1)}, map[string]any{"$not": f}}}
	case 1:
		return map[string]any{"$or": []any{f, map[string]any{"genre": map[string]any{"$in": []any{"novel", "poetry", "essay", nil}[:3+g.IntN(2)]}}}}
	case 2:
		return map[string]any{"tags": map[string]any{pick(g, "$every", "$none"): g.filter("Tag", 2)}}
	}
	return f
}

// encoded is the filter as it is sent: bytes as base64.
func encoded(v any, field string) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, x := range v {
			under := field
			if k[0] != '$' {
				under = k
			}
			out[k] = encoded(x, under)
		}
		return out
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, encoded(x, field))
		}
		return out
	case string:
		if field == "cover" {
			return base64.StdEncoding.EncodeToString([]byte(v))
		}
	}
	return v
}

// question is a random query with what plain evaluation answers.
type question struct {
	input map[string]any // without page, cursor and pageSize
	want  []string       // ids of all matches, in order
}

func (g generator) question(w world) question {
	f := g.filter("Book", 3)
	names := slices.DeleteFunc(filter.FieldNames(books), func(n string) bool { return n == "meta" || n == "keywords" || n == "cover" })
	names = append(names, "author.name", "author.born", "author.mentor.id", "author.mentor.desk.room", "author.desk.room")
	keys := []string{pick(g, names...), pick(g, names...)}
	if keys[0] == keys[1] {
		keys = keys[:1]
	}
	nulls := []string{pick(g, "", "first", "last"), pick(g, "", "", "first", "last")}
	down := []bool{g.IntN(2) == 0, g.IntN(2) == 0}
	in := map[string]any{"filter": encoded(f, ""), "fields": pick(g, "id", "title", keys[0])}
	q := ""
	if g.IntN(4) == 0 {
		q = g.words()
		in["q"] = q
	}
	if q != "" && g.IntN(2) == 0 {
		keys = nil
	} else {
		sort := []any{}
		for i, k := range keys {
			name := map[bool]string{true: "-"}[down[i]] + k
			if sort = append(sort, name); nulls[i] != "" {
				sort[i] = map[string]any{"field": name, "nulls": nulls[i]}
			}
		}
		in["sort"] = sort
	}
	found := slices.DeleteFunc(w.all("Book"), func(r record) bool { return !w.matches(r, f) || !searched(r, q) })
	slices.SortStableFunc(found, func(a, b record) int {
		if keys == nil {
			if c := rankOf(b, q) - rankOf(a, q); c != 0 {
				return c
			}
		}
		for i, k := range keys {
			if c := w.orderNulls(w.at(a, k), w.at(b, k), down[i], nulls[i]); c != 0 {
				return c
			}
		}
		return order(a["id"], b["id"])
	})
	out := question{input: in}
	for _, r := range found {
		out.want = append(out.want, r["id"].(string))
	}
	return out
}

type answer struct {
	Items      []struct{ ID string }
	TotalCount *int
	NextCursor *string
	Page       int
	Truncated  bool
}

func (a answer) ids() []string {
	var out []string
	for _, item := range a.Items {
		out = append(out, item.ID)
	}
	return out
}

// ask reads one page of a question.
func (q question) ask(t *testing.T, db read.Querier, e *read.Engine, more map[string]any) (answer, string) {
	t.Helper()
	in := maps.Clone(q.input)
	maps.Copy(in, more)
	raw, err := json.Marshal(in)
	require.NoError(t, err)
	var out answer
	require.NoError(t, json.Unmarshal([]byte(collection(t, db, e, books, string(raw))), &out))
	return out, string(raw)
}

// The engine gives exactly what plain evaluation over the same rows gives:
// filter, search, sort, page and count, nulls included.
func TestEngineEqualsPlainEvaluation(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestEngineEqualsPlainEvaluation) {
		return
	}
	g := generator{rand.New(rand.NewPCG(7, 2026))}
	w := newWorld(t, library.Random(g.Rand, 60))
	db, e := open(t, w.data)
	scan, late := scanning(t), scanning(t)
	late.LookUpLate(0)
	found := 0
	rounds := soak.Rounds(160, 1500)
	for range rounds {
		q := g.question(w)
		size, page := 1+g.IntN(20), 1+g.IntN(3)
		from, to := min((page-1)*size, len(q.want)), min(page*size, len(q.want))
		got, raw := q.ask(t, db, e, map[string]any{"page": page, "pageSize": size})
		require.Equal(t, append([]string{}, q.want[from:to]...), append([]string{}, got.ids()...), raw)
		require.Equal(t, len(q.want), *got.TotalCount, raw)
		require.Equal(t, to < len(q.want), got.NextCursor != nil, raw)
		require.False(t, got.Truncated)
		scanned, _ := q.ask(t, db, scan, map[string]any{"page": page, "pageSize": size})
		require.Equal(t, got.ids(), scanned.ids(), raw)
		looked, _ := q.ask(t, db, late, map[string]any{"page": page, "pageSize": size})
		require.Equal(t, got, looked, raw)
		found += len(q.want)
	}
	require.Greater(t, found, 3*rounds, "the filters of this test have to find something")
}

// What matches all by its form matches all rows.
func TestMatchesAllHoldsForEveryRow(t *testing.T) {
	t.Parallel()
	g := generator{rand.New(rand.NewPCG(19, 2026))}
	data := library.Random(g.Rand, 40)
	for i := range data.Books { // null is exempt from texts with nothing to look for
		data.Books[i].Blurb = library.P(library.Title(g.Rand))
	}
	w := newWorld(t, data)
	proven := 0
	rounds := soak.Rounds(5000, 20000)
	for range rounds {
		f := g.wide()
		raw, err := json.Marshal(encoded(f, ""))
		require.NoError(t, err)
		tree, details := filter.Parse(raw, books, graph, "")
		require.Empty(t, details, "%s", raw)
		if !tree.MatchesAll() {
			continue
		}
		if len(f) > 0 {
			proven++
		}
		for _, r := range w.all("Book") {
			require.True(t, w.matches(r, f), "%s leaves out %v", raw, r)
		}
	}
	require.Greater(t, proven, rounds/100, "the filters of this test have to match all in several ways")
}

// A walk by cursors gives every row exactly once, in order, whatever the sort.
func TestCursorsVisitEveryRowOnce(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestCursorsVisitEveryRowOnce) {
		return
	}
	g := generator{rand.New(rand.NewPCG(11, 2026))}
	w := newWorld(t, library.Random(g.Rand, 60))
	db, e := open(t, w.data)
	pages := 0
	rounds := soak.Rounds(120, 1000)
	for range rounds {
		q := g.question(w)
		more := map[string]any{"pageSize": 1 + g.IntN(9)}
		seen := []string{}
		for page := 1; ; page++ {
			got, raw := q.ask(t, db, e, more)
			require.Equal(t, page, got.Page)
			require.Equal(t, page == 1, got.TotalCount != nil, "with cursors only on demand")
			seen = append(seen, got.ids()...)
			pages++
			if got.NextCursor == nil {
				break
			}
			require.NotEmpty(t, got.Items, raw)
			more["cursor"] = *got.NextCursor
			more["pageSize"] = 1 + g.IntN(9)
		}
		require.Equal(t, append([]string{}, q.want...), seen, "%v", q.input)
	}
	require.Greater(t, pages, 5*rounds/2)
}

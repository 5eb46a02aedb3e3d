package read_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/catalog"
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

func (g generator) condition(f *catalog.Field) any {
	orNull := func() any {
		if f.Nullable && g.IntN(4) == 0 {
			return nil
		}
		return g.value(f)
	}
	if f.Type != catalog.TypeJSON && g.IntN(4) == 0 {
		return orNull()
	}
	ops := map[string]any{}
	for range 1 + g.IntN(2) {
		op := pick(g, filter.OperatorsOf(f)...)
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

// The engine gives exactly what plain evaluation over the same rows gives:
// filter, sort, page and count, nulls included.
func TestEngineEqualsPlainEvaluation(t *testing.T) {
	g := generator{rand.New(rand.NewPCG(7, 2026))}
	w := world{library.Random(g.Rand, 60)}
	db, e := open(t, w.data)
	found := 0
	for range 3000 {
		f := g.filter("Book", 3)
		names := slices.DeleteFunc(filter.FieldNames(books), func(n string) bool { return n == "meta" || n == "cover" })
		keys := []string{pick(g, names...), pick(g, names...)}
		if keys[0] == keys[1] {
			keys = keys[:1]
		}
		down := []bool{g.IntN(2) == 0, g.IntN(2) == 0}
		sort := []string{}
		for i, k := range keys {
			sort = append(sort, map[bool]string{true: "-"}[down[i]]+k)
		}
		size, page := 1+g.IntN(20), 1+g.IntN(3)
		raw, err := json.Marshal(map[string]any{"filter": encoded(f, ""), "sort": sort, "page": page, "pageSize": size, "fields": "id"})
		require.NoError(t, err)

		want := slices.DeleteFunc(w.all("Book"), func(r record) bool { return !w.matches(r, f) })
		slices.SortStableFunc(want, func(a, b record) int {
			for i, k := range append(slices.Clone(keys), "id") {
				if c := order(a[k], b[k]); c != 0 {
					if i < len(keys) && down[i] {
						return -c
					}
					return c
				}
			}
			return 0
		})
		var ids []string
		for i := (page - 1) * size; i < min(page*size, len(want)); i++ {
			ids = append(ids, want[i]["id"].(string))
		}
		var got struct {
			Items      []struct{ ID string }
			TotalCount int
		}
		require.NoError(t, json.Unmarshal([]byte(collection(t, db, e, books, string(raw))), &got))
		var gotIDs []string
		for _, item := range got.Items {
			gotIDs = append(gotIDs, item.ID)
		}
		require.Equal(t, ids, gotIDs, string(raw))
		require.Equal(t, len(want), got.TotalCount, string(raw))
		found += len(want)
	}
	require.Greater(t, found, 10000, "the filters of this test have to find something")
}

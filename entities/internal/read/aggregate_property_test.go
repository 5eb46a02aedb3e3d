package read_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math/big"
	"math/rand/v2"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// measure is one column of an aggregate, evaluated the plain way.
type measure struct {
	name, call, of, by string
	field              catalog.Field // what the column is
}

// start is the first moment of the bucket that a time falls into.
func startOf(at time.Time, by string) time.Time {
	y, m, d := at.UTC().Date()
	switch by {
	case "week":
		d -= (int(at.UTC().Weekday()) + 6) % 7
	case "month":
		d = 1
	case "year":
		m, d = 1, 1
	}
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// value is what a column is of the records of a group.
func (m measure) value(group []record) any {
	var values []any
	for _, r := range group {
		if v := r[m.of]; v != nil {
			values = append(values, v)
		}
	}
	switch m.call {
	case "":
		v := group[0][m.of]
		if at, ok := v.(time.Time); ok && m.by != "" {
			return startOf(at, m.by)
		}
		if day, ok := v.(library.Day); ok && m.by != "" {
			at, _ := time.Parse(time.DateOnly, string(day))
			return library.Day(startOf(at, m.by).Format(time.DateOnly))
		}
		return v
	case "count":
		return int64(len(group))
	case "distinct":
		seen := map[string]bool{}
		for _, v := range values {
			seen[shown(v, "")] = true
		}
		return int64(len(seen))
	}
	if len(values) == 0 {
		return nil
	}
	switch m.call {
	case "min":
		return slices.MinFunc(values, order)
	case "max":
		return slices.MaxFunc(values, order)
	}
	total := new(big.Rat)
	for _, v := range values {
		exact, _ := new(big.Rat).SetString(fmt.Sprint(v))
		total.Add(total, exact)
	}
	if _, ok := values[0].(int64); ok && m.call == "sum" {
		return total.Num().Int64()
	}
	if m.call == "avg" {
		total.Quo(total, big.NewRat(int64(len(values)), 1))
	}
	x, _ := total.Float64()
	if m.field.Type == catalog.TypeDecimal {
		x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
	}
	return x
}

// shown is the JSON of a value of a field.
func shown(v any, t catalog.FieldType) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case int64:
		if t == catalog.TypeID {
			return strconv.Quote(strconv.FormatInt(v, 10))
		}
		return strconv.FormatInt(v, 10)
	case float64:
		if t == catalog.TypeDecimal {
			return strconv.Quote(strconv.FormatFloat(v, 'f', -1, 64))
		}
		return strconv.FormatFloat(v, 'f', -1, 64)
	case library.Day:
		return strconv.Quote(string(v))
	case time.Time:
		return strconv.Quote(v.UTC().Format(time.RFC3339Nano))
	case string:
		if t == catalog.TypeBytes {
			v = base64.StdEncoding.EncodeToString([]byte(v))
		}
		raw, _ := json.Marshal(v)
		return string(raw)
	}
	return fmt.Sprint(v)
}

func upper(s string) string { return string(unicode.ToUpper(rune(s[0]))) + s[1:] }

// columns makes the groups and the measures of a random aggregate, and its input.
func (g generator) columns() (groups, measures []measure, input map[string]any) {
	input = map[string]any{}
	field := func(names ...string) catalog.Field { return *books.Resource.Field(pick(g, names...)) }
	taken := map[string]bool{}
	var by []any
	for range g.IntN(3) {
		f := field("title", "genre", "pages", "sold", "price", "inPrint", "publishedAt", "createdAt", "orderedOn", "isbn", "cost", "cover", "authorId", "blurb")
		m := measure{name: f.Name, of: f.Name, field: f}
		var said any = f.Name
		if (f.Type == catalog.TypeTime || f.Type == catalog.TypeDay) && g.IntN(3) > 0 {
			m.by = pick(g, "day", "week", "month", "year")
			m.name += upper(m.by)
			said = map[string]any{"field": f.Name, "by": m.by}
		}
		if f.Name == "authorId" && g.IntN(2) == 0 {
			m.name, said = "author", "author"
		}
		if g.IntN(4) == 0 {
			m.name = "own" + strconv.Itoa(len(by))
			said = map[string]any{"field": f.Name, "as": m.name}
			if m.by != "" {
				said.(map[string]any)["by"] = m.by
			}
		}
		if !taken[m.name] {
			taken[m.name] = true
			by, groups = append(by, said), append(groups, m)
		}
	}
	if len(by) > 0 {
		input["groupBy"] = by
	}
	distinct := field("title", "genre", "pages", "publishedAt", "orderedOn", "authorId", "cost", "inPrint", "isbn").Name
	switch g.IntN(3) {
	case 0:
		input["count"] = true
		measures = append(measures, measure{name: "count", call: "count", field: catalog.Field{Type: catalog.TypeInt}})
	case 1:
		input["count"] = map[string]any{"distinct": distinct}
		measures = append(measures, measure{name: "distinct" + upper(distinct), call: "distinct", of: distinct, field: catalog.Field{Type: catalog.TypeInt}})
	}
	for _, call := range []string{"sum", "avg", "min", "max"} {
		if g.IntN(2) == 0 {
			continue
		}
		f := field("pages", "sold", "price", "cost")
		if call == "min" || call == "max" {
			f = field("pages", "sold", "price", "cost", "title", "blurb", "publishedAt", "createdAt", "orderedOn", "genre")
		}
		if call == "avg" && f.Type == catalog.TypeInt {
			f.Type = catalog.TypeFloat
		}
		input[call] = f.Name
		f.Nullable = true
		measures = append(measures, measure{name: call + upper(f.Name), call: call, of: f.Name, field: f})
	}
	if len(measures) == 0 {
		delete(input, "count")
		measures = append(measures, measure{name: "count", call: "count", field: catalog.Field{Type: catalog.TypeInt}})
	}
	return groups, measures, input
}

// An aggregate gives exactly what plain evaluation over the same rows gives:
// filter, groups, buckets, measures, having, sort and limit, nulls included.
func TestAggregateEqualsPlainEvaluation(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestAggregateEqualsPlainEvaluation) {
		return
	}
	g := generator{rand.New(rand.NewPCG(11, 2026))}
	w := newWorld(t, library.Random(g.Rand, 80))
	db, e := open(t, w.data)
	rows, kept := 0, 0
	rounds := soak.Rounds(300, 3000)
	for range rounds {
		groups, measures, input := g.columns()
		all := append(slices.Clone(groups), measures...)
		f := map[string]any{}
		if g.IntN(2) == 0 {
			f = g.filter("Book", 2)
		}
		input["filter"] = encoded(f, "")
		having := map[string]any{}
		if m := pick(g, all...); g.IntN(2) == 0 && m.field.Type != catalog.TypeBytes {
			m.field.Name = m.name
			having[m.name] = g.condition(&m.field)
			input["having"] = having
		}
		want := plainly(w, f, groups, all, having)
		by := pick(g, all...)
		down := g.IntN(2) == 0
		input["sort"] = map[bool]string{true: "-"}[down] + by.name
		at := slices.IndexFunc(all, func(m measure) bool { return m.name == by.name })
		slices.SortStableFunc(want, func(a, b []any) int {
			if c := w.order(a[at], b[at]); c != 0 {
				return map[bool]int{true: -c, false: c}[down]
			}
			for i := range groups {
				if c := w.order(a[i], b[i]); c != 0 {
					return c
				}
			}
			return 0
		})
		limit := 1 + g.IntN(30)
		input["limit"] = limit
		var lines []string
		for _, row := range want[:min(limit, len(want))] {
			var cells []string
			for i, m := range all {
				cells = append(cells, strconv.Quote(m.name)+":"+shown(row[i], m.field.Type))
			}
			lines = append(lines, "{"+strings.Join(cells, ",")+"}")
		}
		raw, err := json.Marshal(input)
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf(`{"rows":[%s],"truncated":%t}`, strings.Join(lines, ","), len(want) > limit), fifteen(all, aggregate(t, db, e, books, string(raw))), string(raw))
		rows += len(lines)
		if len(having) > 0 && len(want) > 0 {
			kept++
		}
	}
	require.Greater(t, rows, rounds+rounds/2, "the aggregates of this test have to find something")
	require.Greater(t, kept, rounds/30, "so has having")
}

// fifteen returns decimals the digits that SQLite computes and shows; PostgreSQL has
// more of an average, and shows 1.0 as that.
func fifteen(all []measure, rows string) string {
	for _, m := range all {
		if m.field.Type != catalog.TypeDecimal {
			continue
		}
		member := regexp.MustCompile(strconv.Quote(m.name) + `:"([^"]*)"`)
		rows = member.ReplaceAllStringFunc(rows, func(s string) string {
			x, _ := strconv.ParseFloat(member.FindStringSubmatch(s)[1], 64)
			x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 15, 64), 64)
			return strconv.Quote(m.name) + ":" + shown(x, catalog.TypeDecimal)
		})
	}
	return rows
}

// plainly returns the rows of an aggregate, in no order.
func plainly(w world, f map[string]any, groups, all []measure, having map[string]any) [][]any {
	byKey := map[string][]record{}
	if len(groups) == 0 {
		byKey[""] = nil
	}
	for _, r := range w.all("Book") {
		if !w.matches(r, f) {
			continue
		}
		var key []string
		for _, m := range groups {
			key = append(key, shown(m.value([]record{r}), ""))
		}
		k := strings.Join(key, ",")
		byKey[k] = append(byKey[k], r)
	}
	var out [][]any
	for _, group := range byKey {
		row, named := []any{}, record{"?": "aggregate"}
		for _, m := range all {
			v := m.value(group)
			row = append(row, v)
			named[m.name] = v
		}
		holds := true
		for name, c := range having {
			holds = holds && condition(named[name], c)
		}
		if holds {
			out = append(out, row)
		}
	}
	return out
}

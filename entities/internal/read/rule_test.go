package read_test

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// ruled is the library for somebody who may read what conditions let through, by
// table. Rows of tables without one are all there.
type ruled map[string]string

// asking is a library with rules, on one database.
type asking struct {
	ruled
	dialect sqltext.Dialect
}

var _ filter.Rules = asking{}

func (ruled) Entity(name string) *descriptor.Entity { return graph.Entity(name) }

func (r asking) Rule(e *descriptor.Entity) (*filter.Rule, error) {
	return &filter.Rule{Key: "id", Keys: func(bound int) (string, []any) {
		condition, ok := r.ruled[e.Table]
		if !ok {
			return "SELECT id FROM " + e.Table, nil
		}
		return "SELECT id FROM " + e.Table + " WHERE " + string(r.dialect.Placeholder(nil, bound+1)) + " AND " + condition, []any{true}
	}}, nil
}

// Who reads a library through rules learns no more than who reads one that never
// had the hidden rows.
func TestHiddenRowsMightAsWellNotExist(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestHiddenRowsMightAsWellNotExist) {
		return
	}
	for name, rules := range map[string]ruled{
		"all":     {"authors": "id % 3 <> 0", "books": "sold < 2 AND title <> 'Dune'", "tags": "label <> 'tag1'", "desks": "id < 4"},
		"books":   {"books": "in_print OR page_count IS NULL"},
		"authors": {"authors": "id IN (2, 5) OR EXISTS (SELECT 1 FROM books AS t1 WHERE t1.author_id = authors.id AND t1.sold > 1)"},
		"nothing": {"books": "1=0", "tags": "1=0"},
	} {
		t.Run(name, func(t *testing.T) {
			g := generator{rand.New(rand.NewPCG(17, 2026))}
			w := newWorld(t, library.Random(g.Rand, 60))
			whole, e := open(t, w.data)
			rest, _ := open(t, w.data)
			// In one connection, and leaving references that lead nowhere, as those to
			// hidden rows do.
			conn, err := rest.Conn(ctx)
			require.NoError(t, err)
			_, err = conn.ExecContext(ctx, map[bool]string{false: "PRAGMA foreign_keys=0", true: "SET session_replication_role=replica"}[pgtest.Here(t)])
			require.NoError(t, err)
			for table, condition := range rules {
				_, err := conn.ExecContext(ctx, "CREATE TEMP TABLE kept_"+table+" AS SELECT id FROM "+table+" WHERE "+condition)
				require.NoError(t, err)
			}
			for table := range rules {
				_, err := conn.ExecContext(ctx, "DELETE FROM "+table+" WHERE id NOT IN (SELECT id FROM kept_"+table+")")
				require.NoError(t, err)
			}
			require.NoError(t, conn.Close())

			found := 0
			rounds := soak.Rounds(80, 200)
			for range rounds {
				input := g.reading(w)
				seen, err := answers(e, whole, asking{rules, library.Dialect(t)}, input)
				require.NoError(t, err, input)
				there, err := answers(e, rest, asking{dialect: library.Dialect(t)}, input)
				require.NoError(t, err, input)
				require.Equal(t, there, seen, input)
				found += len(seen)
			}
			require.Greater(t, found, 50*rounds)
		})
	}
}

// reading is a random input of an operation that reads.
type reading struct {
	op    string
	of    *descriptor.Entity
	input string
}

func (g generator) reading(w world) reading {
	in, op, of := map[string]any{}, pick(g, "collection", "collection", "count", "aggregate", "get"), books
	switch op {
	case "collection":
		in = g.question(w).input
		delete(in, "fields")
		in["with"] = g.with()
		in["pageSize"] = 1 + g.IntN(30)
	case "aggregate":
		_, _, in = g.columns()
		in["filter"] = encoded(g.filter("Book", 2), "")
		if g.IntN(2) == 0 {
			in["max"] = "author"
		}
	case "count":
		of = graph.Entity(pick(g, "Book", "Author", "Tag"))
		in["filter"] = encoded(g.filter(of.Resource.Name, 3), "")
	case "get":
		in["id"], in["with"] = pick(g, w.all("Book")...)["id"], g.with()
	}
	raw, err := json.Marshal(in)
	if err != nil {
		panic(err)
	}
	return reading{op, of, string(raw)}
}

func (g generator) with() any {
	return pick[any](
		g, "all", "author.books.tags", "tags.books.author.desk", "author.mentor.pupils",
		map[string]any{"tags": map[string]any{"limit": 1 + g.IntN(2), "sort": "-id", "with": map[string]any{"books": map[string]any{"limit": 2, "filter": encoded(g.filter("Book", 1), "")}}}},
		map[string]any{"author": map[string]any{"filter": encoded(g.filter("Author", 2), ""), "with": map[string]any{"books": map[string]any{"limit": 3}}}},
	)
}

// answers returns what a reading answers, or that there is nothing.
func answers(e *read.Engine, q read.Querier, g asking, r reading) (string, error) {
	var out []byte
	ctx, raw := context.Background(), json.RawMessage(r.input)
	switch r.op {
	case "collection":
		c, err := read.DecodeCollection(raw, r.of, g)
		if err == nil {
			err = c.Obey(g)
		}
		if err != nil {
			return "", err
		}
		out, err = e.Collection(ctx, q, c)
		return string(out), err
	case "count":
		c, err := read.DecodeCount(raw, r.of, g)
		if err == nil {
			err = c.Obey(g)
		}
		if err != nil {
			return "", err
		}
		out, err = e.Count(ctx, q, c)
		return string(out), err
	case "aggregate":
		a, err := read.DecodeAggregate(raw, r.of, g)
		if err == nil {
			err = a.Obey(g)
		}
		if err != nil {
			return "", err
		}
		out, err = e.Aggregate(ctx, q, a)
		return string(out), err
	}
	c, err := read.DecodeGet(raw, r.of, g)
	if err == nil {
		err = c.Obey(g)
	}
	if err != nil {
		return "", err
	}
	if out, err = e.Get(ctx, q, c); err != nil {
		return err.Error(), nil
	}
	return string(out), nil
}

// A rule's arguments are numbered where the dialect numbers them.
func TestRulesArgumentsAreNumbered(t *testing.T) {
	t.Parallel()
	b := &sqltext.Builder{Dialect: sqltext.SQLite{}}
	r := &filter.Rule{Key: "id", Keys: func(bound int) (string, []any) {
		require.Equal(t, 2, bound)
		return "SELECT id FROM books WHERE sold > ?", []any{3}
	}}
	a := b.NewAlias()
	b.Arg(1).Raw(" ").Arg(2).Raw(" ")
	r.Where(b, a)
	b.Raw(" ").Arg(4)
	require.Equal(t, `? ? EXISTS (SELECT 1 FROM (SELECT id FROM books WHERE sold > ?) AS t1 WHERE t1."id"=t0."id") ?`, string(b.Text()))
	require.Equal(t, []any{1, 2, 3, 4}, b.Args())
	b.Reset()
	filter.Nothing.Where(b, b.NewAlias())
	require.Equal(t, "1=0", string(b.Text()))
}

package filter_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/library"
)

func TestMatchesAll(t *testing.T) {
	required := library.Graph()
	for i, e := range required.Entity("Book").Resource.Edges {
		required.Entity("Book").Resource.Edges[i].Required = e.Name == "author"
	}
	for _, c := range []struct {
		input string
		want  bool
	}{
		{`{}`, true},
		{`{"$and":[{},{"$and":[{}]}]}`, true},
		{`{"$or":[{"title":"x"},{}]}`, true},
		{`{"$or":[{"title":"x"},{"$and":[{}]}]}`, true},
		{`{"$not":{"$not":{}}}`, true},
		{`{"$nor":[{"$nor":[{}]}]}`, true},
		{`{"$not":{"$and":[{"title":"x"},{"pages":{"$in":[]}}]}}`, true},
		{`{"title":"x"}`, false},
		{`{"$nor":[{}]}`, false},
		{`{"$not":{}}`, false},
		{`{"$and":[{},{"title":"x"}]}`, false},
		{`{"$or":[{"title":"x"},{"pages":1}]}`, false},

		// Lists.
		{`{"pages":{"$nin":[]}}`, true},
		{`{"$not":{"pages":{"$in":[]}}}`, true},
		{`{"$nor":[{"pages":{"$in":[]}}]}`, true},
		{`{"keywords":{"$all":[]}}`, true},
		{`{"meta":{"$path":{"a":{"$nin":[]}}}}`, true},
		{`{"meta":{"$path":{"a":{"$all":[]}}}}`, true},
		{`{"inPrint":{"$in":[true,false]}}`, true},
		{`{"genre":{"$in":["novel","poetry","essay",null]}}`, true},
		{`{"$not":{"genre":{"$nin":["novel","poetry","essay",null]}}}`, true},
		{`{"genre":{"$in":["novel","poetry","essay"]}}`, false}, // null is left out
		{`{"genre":{"$in":["novel","novel","essay",null]}}`, false},
		{`{"pages":{"$in":[]}}`, false},
		{`{"genre":{"$nin":["novel","poetry","essay",null]}}`, false},

		// Texts and nulls.
		{`{"title":{"$contains":""}}`, true},
		{`{"title":{"$icontains":""}}`, true},
		{`{"title":{"$startsWith":""}}`, true},
		{`{"title":{"$endsWith":""}}`, true},
		{`{"title":{"$ieq":""}}`, false}, // the empty text only
		{`{"title":{"$iin":[]}}`, false},
		{`{"$not":{"title":{"$iin":[]}}}`, true},
		{`{"$or":[{"title":{"$ieq":"x"}},{"$not":{"title":{"$ieq":"x"}}}]}`, true},
		{`{"$or":[{"title":{"$ieq":"x"}},{"$not":{"title":"x"}}]}`, false}, // true, but not by its form
		{`{"title":{"$gte":""}}`, true},
		{`{"$not":{"title":{"$lt":""}}}`, true},
		{`{"$search":""}`, true},
		{`{"$search":" "}`, true},
		{`{"title":{"$null":false}}`, true},
		{`{"$not":{"title":{"$null":true}}}`, true},
		{`{"pages":{"$null":false}}`, false},
		{`{"title":{"$null":true}}`, false},
		{`{"title":{"$gt":""}}`, false},
		{`{"$not":{"title":{"$contains":""}}}`, false},
		{`{"meta":{"$path":{"a":{"$contains":""}}}}`, false}, // a text stands there
		{`{"$search":"x"}`, false},

		// A condition or its opposite.
		{`{"$or":[{"title":"x"},{"title":{"$ne":"x"}}]}`, true},
		{`{"$or":[{"pages":{"$in":[1,2]}},{"$or":[{"sold":1},{"pages":{"$nin":[1,2]}}]}]}`, true},
		{`{"$or":[{"pages":{"$null":true}},{"pages":{"$null":false}}]}`, true},
		{`{"$not":{"$and":[{"pages":1},{"pages":{"$ne":1}}]}}`, true},
		{`{"$not":{"title":"x","$not":{"title":"x"}}}`, true},
		{`{"$or":[{"inPrint":true},{"inPrint":false}]}`, true},
		{`{"$or":[{"sold":{"$lt":3}},{"sold":{"$gte":3}}]}`, true},
		{`{"$or":[{"tags":{"$exists":true}},{"tags":{"$exists":false}}]}`, true},
		{`{"$or":[{"tags":{"$some":{"label":"x"}}},{"tags":{"$none":{"label":"x"}}}]}`, true},
		{`{"$or":[{"author":null},{"author":{"$exists":true}}]}`, true},
		{`{"$or":[{"pages":{"$lt":3}},{"pages":{"$gte":3}}]}`, false}, // null is left out
		{`{"$or":[{"title":"x"},{"title":{"$ne":"y"}}]}`, false},
		{`{"$or":[{"sold":{"$lt":3}},{"sold":{"$gte":4}}]}`, false},
		{`{"$or":[{"tags":{"$some":{}}},{"tags":{"$some":{"label":"x"}}}]}`, false},

		// Relationships.
		{`{"tags":{"$every":{}}}`, true},
		{`{"tags":{"$every":{"id":{"$nin":[]}}}}`, true},
		{`{"tags":{"$none":{"id":{"$in":[]}}}}`, true},
		{`{"tags":{"$none":{"$not":{}}}}`, true},
		{`{"tags":{"$none":{"$nor":[{}]}}}`, true},
		{`{"tags":{"$none":{"books":{"$some":{"id":{"$in":[]}}}}}}`, true},
		{`{"tags":{"$every":{"books":{"$every":{}}}}}`, true},
		{`{"tags":{"$none":{"label":"x","id":{"$in":[]}}}}`, true},
		{`{"$not":{"tags":{"$some":{"id":{"$in":[]}}}}}`, true},
		{`{"$nor":[{"tags":{"$some":{"id":{"$in":[]}}}},{"author":{"id":{"$in":[]}}}]}`, true},
		{`{"$not":{"author":{"books":{"$some":{"id":{"$in":[]}}}}}}`, true},
		{`{"tags":{"$every":{},"$none":{"id":{"$in":[]}}}}`, true},
		{`{"author":{}}`, false},
		{`{"author":{"$exists":true}}`, false},
		{`{"$not":{"author":{"name":"x"}}}`, false},
		{`{"tags":{"$exists":true}}`, false},
		{`{"tags":{"$some":{}}}`, false},
		{`{"tags":{"$none":{}}}`, false},
		{`{"tags":{"$every":{"label":"x"}}}`, false},
		{`{"tags":{"$every":{},"$some":{}}}`, false},
		{`{"tags":{"$some":{"books":{"$every":{}}}}}`, false},
	} {
		tree, details := filter.Parse([]byte(c.input), books, graph, "")
		require.Empty(t, details, c.input)
		require.Equal(t, c.want, tree.MatchesAll(), c.input)
	}
	for input, want := range map[string]bool{
		`{"author":{}}`:                        true,
		`{"author":{"$exists":true}}`:          true,
		`{"$not":{"author":null}}`:             true,
		`{"author":{"books":{"$every":{}}}}`:   true,
		`{"author":{"name":{"$contains":""}}}`: true,
		`{"author":{"name":"x"}}`:              false,
		`{"author":null}`:                      false,
		`{"author":{"mentor":{}}}`:             false,
	} {
		tree, details := filter.Parse([]byte(input), required.Entity("Book"), required, "")
		require.Empty(t, details, input)
		require.Equal(t, want, tree.MatchesAll(), "of a required relationship: %s", input)
	}
}

// restricted lets a caller read no row of one entity and some rows of the others.
type restricted struct{ hidden string }

func (r restricted) Rule(e *descriptor.Entity) (*filter.Rule, error) {
	if e.Resource.Name == r.hidden {
		return filter.Nothing, nil
	}
	return &filter.Rule{Key: "id", Keys: func(int) (string, []any) { return "SELECT 1", nil }}, nil
}

func TestMatchesAllOfWhatACallerMayRead(t *testing.T) {
	for input, want := range map[string]bool{
		`{}`:                     true,
		`{"tags":{"$every":{}}}`: true,
		`{"author":null}`:        true, // nobody that the caller may read
		`{"tags":{"$none":{}}}`:  false,
		`{"title":"x"}`:          false,
	} {
		given, err := filter.Decode([]byte(input))
		require.NoError(t, err, input)
		var guards filter.Guards
		tree, details := filter.Check(given, books, graph, "", &guards)
		require.Empty(t, details, input)
		require.NoError(t, guards.Obey(restricted{"Author"}), input)
		require.Equal(t, want, tree.MatchesAll(), input)
	}
}

package read_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

func TestSortOfAggregatesPutsNullsWhereItIsTold(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSortOfAggregatesPutsNullsWhereItIsTold) {
		return
	}
	db, e := open(t, library.Data{Books: []library.Book{{ID: "a", Genre: new("novel")}, {ID: "b"}, {ID: "c", Genre: new("essay")}}})
	const novel, essay, none = `{"genre":"novel"}`, `{"genre":"essay"}`, `{"genre":null}`
	for sort, want := range map[string]string{
		`{"field":"genre","nulls":"first"}`:   none + "," + essay + "," + novel,
		`{"field":"genre","nulls":"last"}`:    essay + "," + novel + "," + none,
		`[{"field":"-genre","nulls":"last"}]`: novel + "," + essay + "," + none,
		`{"field":"-genre","nulls":"first"}`:  none + "," + novel + "," + essay,
	} {
		require.JSONEq(t, `{"rows":[`+want+`],"truncated":false}`, aggregate(t, db, e, books, `{"groupBy":"genre","sort":`+sort+`,"count":false}`), sort)
	}
}

// Related rows with a limit are ranked by what they are related to.
func TestRelationshipsAreSortedOverRelationships(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRelationshipsAreSortedOverRelationships) {
		return
	}
	db, e := open(t, library.Data{
		Authors: []library.Author{{ID: 1, Name: "Zoe"}, {ID: 2, Name: "Ann"}},
		Tags:    []library.Tag{{ID: 1, Label: "new"}},
		Books:   []library.Book{{ID: "a", Author: new(int64(1)), Tags: []int64{1}}, {ID: "b", Author: new(int64(2)), Tags: []int64{1}}, {ID: "c", Tags: []int64{1}}},
	})
	for options, want := range map[string]string{
		`"limit":2,"sort":{"field":"author.name","nulls":"last"}`: `[{"id":"b"},{"id":"a"}]`,
		`"sort":[{"field":"-author.name","nulls":"first"}]`:       `[{"id":"c"},{"id":"a"},{"id":"b"}]`,
	} {
		got := collection(t, db, e, graph.Entity("Tag"), `{"count":false,"fields":"id","with":{"books":{"fields":"id",`+options+`}}}`)
		require.JSONEq(t, `{"items":[{"id":"1","books":`+want+`}],"page":1,"pageSize":50,"nextCursor":null,"truncated":false}`, got)
	}
}

// FuzzSort: whatever the decoder takes the schema takes too, and SQLite sorts by.
func FuzzSort(f *testing.F) {
	for _, seed := range []string{
		`"-title,author.name"`, `{"field":"-author.born","nulls":"last"}`, `["pages",{"field":"author.mentor.desk.room","nulls":"first"}]`, `"author.id,id"`,
		`[{"field":"author"}]`, `"tags.label"`, `"author..name"`, `{"field":""}`, `[]`, `[["title"]]`, `"author.mentor.mentor.mentor.mentor.name"`, `"reviews.id"`,
	} {
		f.Add([]byte(seed))
	}
	db, e := open(f, small())
	schema := compiled(f, read.CollectionSchema(books, graph))
	f.Fuzz(func(t *testing.T, sort []byte) {
		raw := append(append([]byte(`{"sort":`), sort...), `,"pageSize":1}`...)
		c, err := read.DecodeCollection(raw, books, graph)
		if err != nil {
			require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
			return
		}
		requireAccepted(t, schema, raw)
		_, err = e.Collection(ctx, db, c)
		require.NoError(t, err)
	})
}

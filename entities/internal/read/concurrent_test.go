package read_test

import (
	"context"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/internal/library"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/race"
)

// Calls share memory through pools, never what stands in it.
func TestConcurrentCalls(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	if pgtest.ForEach(t, TestConcurrentCalls) {
		return
	}
	db, e := open(t, library.Random(rand.New(rand.NewPCG(3, 4)), 200))
	inputs := []string{
		`{"with":"author.books,tags","pageSize":7}`, `{"filter":{"pages":{"$in":[1,2,3]}},"sort":"-title"}`, `{"fields":"title","q":"e"}`,
		`{"filter":{"tags":{"$some":{"label":"tag1"}}},"with":{"tags":{"limit":1}},"page":2,"pageSize":20}`,
	}
	want := map[string]string{}
	for _, input := range inputs {
		want[input] = collection(t, db, e, books, input)
	}
	var wg sync.WaitGroup
	for worker := range 8 {
		wg.Go(func() {
			for i := range 50 {
				input := inputs[(worker+i)%len(inputs)]
				c, err := read.DecodeCollection([]byte(input), books, graph)
				if !assert.NoError(t, err) {
					return
				}
				out, err := e.Collection(ctx, db, c)
				if !assert.NoError(t, err) || !assert.Equal(t, want[input], string(out)) {
					return
				}
			}
		})
	}
	wg.Wait()
}

// A call that is given up ends soon, with the fault for it.
func TestGivenUp(t *testing.T) {
	t.Parallel()
	db, e := open(t, library.Random(rand.New(rand.NewPCG(5, 6)), 400))
	slow := `{"id":{"$ne":"none"}}` // true of all, so that every level goes through all books of an author
	for range 5 {
		slow = `{"author":{"books":{"$every":` + slow + `}}}`
	}
	c, err := read.DecodeCount([]byte(`{"filter":`+slow+`}`), books, graph)
	require.NoError(t, err)

	short, cancel := context.WithTimeout(ctx, 20*time.Millisecond)
	defer cancel()
	start := time.Now()
	_, err = e.Count(short, db, c)
	require.Equal(t, fault.Timeout, fault.CodeOf(err), "after %s", time.Since(start))
	require.Less(t, time.Since(start), 5*time.Second)

	gone, cancel := context.WithCancel(ctx)
	cancel()
	_, err = e.Count(gone, db, c)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

//go:build unix

package engine_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// A server that no longer answers ends a call at its time, also one about a single row.
func TestSilentServerEndsACallAtItsTime(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ op, input string }{
		{"Todo.upsert", `{"model":{"title":"y"}}`},
		{"Todo.patch", `{"id":"1","changes":{"title":"y"}}`},
		{"Todo.get-by-id", `{"id":"1"}`},
	} {
		t.Run(c.op, func(t *testing.T) {
			t.Parallel()
			w, place := between(t, pgtest.Place(t))
			a := startIn(t, place, ent.Entities())
			a.call("Todo.upsert", `{"model":{"id":"1","title":"x"}}`)
			w.silent.Store(true)
			ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
			defer cancel()
			id, err := catalog.ParseID("koan::" + c.op)
			require.NoError(t, err)
			ended := make(chan error, 1)
			go func() {
				_, _, err := a.engine.Invoke(ctx, run.Request{View: a.view, Principal: a.as, ID: id, Input: json.RawMessage(c.input), Surface: "app"})
				ended <- err
			}()
			select {
			case err := <-ended:
				require.Error(t, err)
			case <-time.After(20 * time.Second):
				require.Fail(t, "the call goes on")
			}
		})
	}
}

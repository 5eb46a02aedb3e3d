package sandbox

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// While a script waits for a plugin, whether it has called it or started it, another one runs in its place. An entity's
// call is over in a moment, and an action computes in the script's own place.
func TestScriptsThatWaitLetOthersRun(t *testing.T) {
	const plugin, entity, action = "plugin::vision.detect", "koan::Todo.get-by-id", "action::settle"
	for name, c := range map[string]struct {
		code string
		id   string
		runs bool
	}{
		"a call":    {`SDK.Vision.detect({})`, plugin, true},
		"an await":  {`import { detect } from "@codemode/servers/vision"; globalThis.result = await detect({})`, plugin, true},
		"an entity": {`SDK.Entities.Todo.getById("1")`, entity, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := sandboxWith(t, Options{PoolSize: 1, MaxWorkers: 1})
			called, over := make(chan struct{}), make(chan struct{})
			h := newHost()
			h.serve = map[string]func(context.Context, json.RawMessage) (string, error){c.id: func(context.Context, json.RawMessage) (string, error) {
				close(called)
				<-over
				return `{}`, nil
			}}
			done := make(chan *wire.Result)
			go func() {
				r, _ := s.Execute(t.Context(), imported(c.code), h)
				done <- r
			}()
			select {
			case <-called:
			case r := <-done:
				require.FailNow(t, "it calls nothing", "%+v", r.Fault)
			}
			if !c.runs {
				require.Equal(t, 1, s.Load().Computing)
			} else {
				require.Eventually(t, func() bool { return s.Load().Computing == 0 }, 10*time.Second, time.Millisecond)
				r, err := s.Execute(t.Context(), of("bob", "1"), newHost())
				require.NoError(t, err)
				require.Nil(t, r.Fault)
			}
			close(over)
			require.Nil(t, (<-done).Fault)
			require.Zero(t, s.Load().Computing)
		})
	}
	t.Run("an action", func(t *testing.T) {
		s := sandboxWith(t, Options{PoolSize: 1, MaxWorkers: 1})
		inner := func(ctx context.Context, _ json.RawMessage) (string, error) {
			require.Equal(t, 1, s.Load().Computing)
			j := of("ann", "1")
			j.Inner = true
			h := newHost()
			h.serve = map[string]func(context.Context, json.RawMessage) (string, error){plugin: func(context.Context, json.RawMessage) (string, error) {
				require.Zero(t, s.Load().Computing, "nothing of it computes")
				return `{}`, nil
			}}
			j.Code = `SDK.Vision.detect({})`
			r, err := s.Execute(ctx, j, h)
			require.NoError(t, err)
			require.Nil(t, r.Fault)
			require.Equal(t, 1, s.Load().Computing)
			return `1`, nil
		}
		h := newHost()
		h.serve = map[string]func(context.Context, json.RawMessage) (string, error){action: inner}
		j := of("ann", "1")
		j.Code, j.CallTool = `callTool("action::settle", {})`, true
		r, err := s.Execute(t.Context(), j, h)
		require.NoError(t, err)
		require.Nil(t, r.Fault, "%+v", r.Fault)
	})
}

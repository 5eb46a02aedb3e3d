package run_test

import (
	"context"
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// client answers yes after a while, or asks to be called again with the answer.
type client struct {
	takes time.Duration
	again bool

	mu    sync.Mutex
	asked []string
}

func (c *client) Can(ask.Question) bool { return true }

func (c *client) Ask(ctx context.Context, questions ...ask.Question) ([]json.RawMessage, error) {
	c.mu.Lock()
	c.asked = append(c.asked, questions[0].Key)
	c.mu.Unlock()
	if c.again {
		return nil, ask.Wait(questions...)
	}
	select {
	case <-time.After(c.takes):
		return []json.RawMessage{json.RawMessage(`{"action":"accept","content":{}}`)}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// inquire is an operation that asks the client.
var inquire = catalog.PluginID("world", "inquire")

// askingHouse is a house with inquire, and with an entity's operation that asks.
func askingHouse(t *testing.T, o run.Options) *house {
	t.Helper()
	h := newHouse(t, o)
	object, text := json.RawMessage(`{"type":"object"}`), json.RawMessage(`{"type":"string"}`)
	asks := func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
		f, err := ask.Elicit(ctx, "sure", "Sure?", json.RawMessage(`{"type":"object","properties":{}}`))
		return json.RawMessage(`"` + f.Action + `"`), err
	}
	ops := append([]*catalog.Operation{
		{ID: inquire, Contract: catalog.Contract{Input: object, Output: text, Effects: catalog.Effects{Outside: true}}, Listing: catalog.Listing{Reach: catalog.Everywhere}, Work: catalog.Work{Handler: asks}},
		{ID: catalog.EntityID("Counter", "ask"), Contract: catalog.Contract{Input: object, Output: text}, Listing: catalog.Listing{Reach: catalog.Everywhere}, Work: catalog.Work{Serial: true, Handler: asks}},
	}, h.view.Snapshot().Operations()...)
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: ops})
	require.NoError(t, err)
	h.view = s.View(auth.Local(), exposure.Full, false)
	return h
}

func TestNoLockIsHeldWhilePersonIsAsked(t *testing.T) {
	h := askingHouse(t, run.Options{Lock: 10 * time.Millisecond, MaxAttempts: 1})
	c := &client{takes: 400 * time.Millisecond}
	var bodies int
	began := make(chan time.Duration, 10)
	start := time.Now()
	o, err := h.script(ask.With(t.Context(), c), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		bodies++
		began <- time.Since(start)
		if _, err := call(ctx, a, add, `{"by":1}`); err != nil {
			return run.Return{}, err
		}
		out, err := call(ctx, a, inquire, `{}`)
		if err != nil {
			return run.Return{}, err
		}
		_, err = call(ctx, a, inquire, `{}`)
		return run.Return{Result: out}, err
	})
	require.NoError(t, err)
	require.Equal(t, []string{"2:sure", "3:sure"}, c.asked, "each question once, under its own key")
	require.Equal(t, 3, bodies, "an attempt gives way to each, and none of them counts")
	require.Equal(t, 3, o.Attempts)
	<-began
	require.GreaterOrEqual(t, <-began, 400*time.Millisecond, "the next one begins with the answer")
	require.Equal(t, 1, h.store.value["default"])
}

func TestKeysOfClientCallAreNotScoped(t *testing.T) {
	h := askingHouse(t, run.Options{})
	c := &client{}
	out, _, err := h.engine.Invoke(ask.With(t.Context(), c), run.Request{View: h.view, Principal: auth.Local(), ID: inquire})
	require.NoError(t, err)
	require.Equal(t, `"accept"`, string(out))
	require.Equal(t, []string{"sure"}, c.asked)
}

func TestSerialCallsCannotAsk(t *testing.T) {
	h := askingHouse(t, run.Options{})
	c := &client{}
	_, _, err := h.engine.Invoke(ask.With(t.Context(), c), run.Request{View: h.view, Principal: auth.Local(), ID: catalog.EntityID("Counter", "ask")})
	_, unable := ask.IsUnable(err)
	require.True(t, unable)
	require.Empty(t, c.asked)
}

func TestRunEndsInInputRequired(t *testing.T) {
	h := askingHouse(t, run.Options{})
	c := &client{again: true}
	body := func(first catalog.ID) run.Body {
		return func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			_, err := call(ctx, a, first, `{}`)
			require.NoError(t, err)
			_, err = call(ctx, a, inquire, `{}`)
			require.True(t, run.Ends(err), "no script catches it")
			return run.Return{}, nil
		}
	}
	o, err := h.script(ask.With(t.Context(), c), body(read))
	require.Equal(t, fault.InputRequired, fault.CodeOf(err))
	require.Equal(t, "2:sure", ask.Waits(err)[0].Key)
	require.False(t, o.Committed)

	o, err = h.script(ask.With(t.Context(), c), body(send))
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err), "what was sent would be sent again")
	require.Contains(t, err.Error(), "world.send")
	require.Empty(t, ask.Waits(err))
	require.Len(t, o.OutsideEffects, 1)
}

package engine_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
)

// A call that says itself that nothing happened is made again in a run that left other
// things behind; where the run went on without it, it is not.
func TestOnceAfterAFaultThatPasses(t *testing.T) {
	t.Parallel()
	if forEach(t, TestOnceAfterAFaultThatPasses) {
		return
	}
	place, w := place(t), &world{}
	p := newProcess(t, place, w, once.Options{})
	down := fault.New(fault.PluginUnavailable, "down")
	works := func(otherwise bool) job {
		return func(call func(id, input string) (string, error), a *run.Attempt) (string, error) {
			if _, err := call(send, `{"n":1}`); err != nil {
				return "", err
			}
			first := len(w.seen()) < 3
			if first {
				w.fails = down
			}
			_, err := call(send, `{"n":2}`)
			w.fails = nil
			if err != nil && !otherwise {
				return "", err
			}
			time.Sleep(5 * time.Millisecond) // the ledger's clock has milliseconds
			if _, err := call(send, `{"n":3}`); err != nil {
				return "", err
			}
			if first && otherwise {
				return "", fault.New(fault.SetBusy, "too many")
			}
			return "done", nil
		}
	}
	_, _, err := p.once("plain", atomic, works(false))
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(err))
	require.Len(t, w.seen(), 2)
	w.keys = append(w.keys, "") // past the first time
	out, _, err := newProcess(t, place, w, once.Options{}).once("plain", atomic, works(false))
	require.NoError(t, err)
	require.Contains(t, out, "done")
	require.Len(t, w.seen(), 5, "the second and the third")

	w.keys = nil
	_, _, err = p.once("caught", atomic, works(true))
	require.Equal(t, fault.SetBusy, fault.CodeOf(err))
	require.Len(t, w.seen(), 3)
	out, _, err = newProcess(t, place, w, once.Options{}).once("caught", atomic, works(true))
	require.NoError(t, err)
	require.Contains(t, out, "done")
	require.Len(t, w.seen(), 3, "it went another way then, and goes it again")
}

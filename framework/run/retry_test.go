package run_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Whatever a run ends in, its failure does not say that trying again is safe if a call took effect
// outside before; without one it says what the code says.
func TestRetryBesideOutsideEffects(t *testing.T) {
	for _, entry := range fault.Entries() {
		if entry.Code == fault.InputRequired { // no failure: its answers continue the run
			continue
		}
		for _, effect := range []bool{true, false} {
			for _, retry := range []fault.Retry{fault.Safe, fault.Fix, fault.Never} {
				h := newHouse(t, run.Options{})
				var replied *fault.Fault
				h.spec.Reply = func(_ run.Return, _ *run.Outcome, err error) (json.RawMessage, error) {
					replied = fault.From(err)
					return nil, err
				}
				o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
					if effect {
						if _, err := call(ctx, a, send, `{}`); err != nil {
							return run.Return{}, err
						}
					}
					return run.Return{}, fault.New(entry.Code, "").WithRetry(retry)
				})
				f := fault.From(err)
				require.Equal(t, entry.Code, f.Code)
				require.Len(t, o.OutsideEffects, map[bool]int{true: 1, false: 0}[effect])
				require.Equal(t, f, replied, "the body says the same")
				if want := retry; effect && retry == fault.Safe {
					require.Equal(t, fault.Never, f.Retry, entry.Code)
					require.Contains(t, f.Hint, "outside")
				} else {
					require.Equal(t, want, f.Retry, entry.Code)
				}
			}
		}
	}
}

// A call that did not reach its server is no effect, and may be made again. One that may have reached it
// is an effect, also if it is idempotent.
func TestCallThatDidNotReachItsServer(t *testing.T) {
	unavailable := fault.New(fault.ServiceUnavailable, "gone")
	for _, test := range []struct {
		name    string
		err     error
		effects int
		retry   fault.Retry
	}{
		{"not reached", unavailable, 0, fault.Safe},
		{"plugin not running", fault.New(fault.PluginUnavailable, ""), 0, fault.Safe},
		{"too many calls", fault.New(fault.RateLimited, ""), 0, fault.Safe},
		{"interrupted", unavailable.Because(errors.Join(errors.New("EOF"), catalog.ErrInterrupted)), 1, fault.Never},
		{"unknown", fault.New(fault.OutcomeUnknown, ""), 1, fault.Never},
		{"late", fault.New(fault.ToolTimeout, ""), 1, fault.Never},
		{"failed", fault.New(fault.ExecutionError, ""), 1, fault.Never},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHouse(t, run.Options{})
			op := *h.view.Snapshot().Operation(send)
			op.Handler = func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, test.err }
			s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{&op}})
			require.NoError(t, err)
			_, o, err := h.engine.Invoke(t.Context(), run.Request{View: s.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: send})
			require.Len(t, o.OutsideEffects, test.effects)
			require.Equal(t, test.retry, fault.From(err).Retry)
		})
	}
}

package run_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/record"
)

type keptRecords struct{ ended []journal.Record }

func (*keptRecords) Begin(context.Context, journal.Record) {}

func (k *keptRecords) Append(_ context.Context, r journal.Record) { k.ended = append(k.ended, r) }

var sleep = catalog.PluginID("world", "sleep")

// TestEndedContext checks that when the context of a handler ends, its call and its run end with the
// context's error whatever the handler returns, and that the end of a context of the handler's own
// ends neither.
func TestEndedContext(t *testing.T) {
	errGone := errors.New("the client went away")
	timeUp := fault.New(fault.ToolTimeout, "time is up")
	waits := func(err func(ctx context.Context) error) catalog.Handler {
		return func(ctx context.Context, _ catalog.Call) (json.RawMessage, error) {
			<-ctx.Done()
			return json.RawMessage(`{}`), err(ctx)
		}
	}
	returns := map[string]catalog.Handler{
		"the error of the context": waits(context.Context.Err),
		"its cause":                waits(context.Cause),
		"any error":                waits(func(context.Context) error { return errors.New("broken pipe") }),
		"internal":                 waits(func(ctx context.Context) error { return fault.New(fault.Internal, "").Because(ctx.Err()) }),
		"success":                  waits(func(context.Context) error { return nil }),
	}
	for name, handler := range returns {
		for _, c := range []struct {
			cause error
			want  fault.Code
		}{{context.Canceled, fault.Cancelled}, {errGone, fault.Cancelled}, {timeUp, fault.ToolTimeout}, {fmt.Errorf("late: %w", context.DeadlineExceeded), fault.Timeout}} {
			t.Run(fmt.Sprint(name, " after ", c.cause), func(t *testing.T) {
				var log bytes.Buffer
				var rows keptRecords
				h := newHouse(t, run.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
				h.engine.Join(record.New(record.Options{}).Add(&rows))
				h.add(t, &catalog.Operation{ID: sleep, Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`), Effects: catalog.Effects{Outside: true}}, Listing: catalog.Listing{Reach: catalog.Everywhere}, Work: catalog.Work{Handler: handler}})
				ctx, cancel := context.WithCancelCause(t.Context())
				time.AfterFunc(20*time.Millisecond, func() { cancel(c.cause) })
				_, o, err := h.engine.Invoke(ctx, run.Request{View: h.view, Principal: auth.Local(), ID: sleep})
				require.Equal(t, c.want, fault.CodeOf(err))
				require.False(t, o.Committed)
				require.Equal(t, string(c.want), rows.ended[0].Outcome)
				require.Empty(t, log.String())
				require.Len(t, o.OutsideEffects, 1)
			})
		}
	}
	for name, own := range map[string]error{"deadline": fmt.Errorf("ask: %w", context.DeadlineExceeded), "cancel": context.Canceled} {
		t.Run("a handler's own "+name, func(t *testing.T) {
			h := newHouse(t, run.Options{Log: slog.New(slog.DiscardHandler)})
			h.add(t, &catalog.Operation{
				ID:       sleep,
				Contract: catalog.Contract{Input: json.RawMessage(`{}`), Output: json.RawMessage(`{}`)},
				Listing:  catalog.Listing{Reach: catalog.Everywhere},
				Work: catalog.Work{
					Handler: func(context.Context, catalog.Call) (json.RawMessage, error) {
						return nil, own
					},
				},
			})
			o, err := h.script(t.Context(), func(ctx context.Context, a *run.Attempt) (run.Return, error) {
				_, err := call(ctx, a, sleep, `{}`)
				require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
				require.False(t, run.Ends(err), "a script may catch it")
				_, err = call(ctx, a, add, `{"by":1}`)
				return run.Return{}, err
			})
			require.NoError(t, err)
			require.True(t, o.Committed)
		})
	}
}

// add adds an operation to the house.
func (h *house) add(t *testing.T, op *catalog.Operation) {
	t.Helper()
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: append([]*catalog.Operation{op}, h.view.Snapshot().Operations()...)})
	require.NoError(t, err)
	h.view = s.View(auth.Local(), exposure.Full, false)
}

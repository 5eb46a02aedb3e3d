package plugins

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/record"
	"github.com/koan-go/koan/plugins/internal/wire"
)

func TestFaults(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	first, err := b.say(echoIn{})
	require.NoError(t, err)

	t.Run("passes through", func(t *testing.T) {
		_, err := b.say(echoIn{Do: "fault"})
		f := fault.From(err)
		require.Equal(t, fault.Conflict, f.Code)
		require.Equal(t, "taken", f.Message)
		require.Equal(t, "take another", f.Hint)
		require.Equal(t, "/text", f.Path)
		raw, err := json.Marshal(f.Details)
		require.NoError(t, err)
		require.JSONEq(t, `[{"path":"/text","message":"taken"}]`, string(raw))
	})
	t.Run("other errors do not leak", func(t *testing.T) {
		_, err := b.say(echoIn{Do: "error"})
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
		require.Contains(t, err.Error(), "the plugin echo failed in say")
		require.NotContains(t, err.Error(), "inner words")
		require.Eventually(t, func() bool { return strings.Contains(b.host.log.String(), "inner words") }, 3*time.Second, 10*time.Millisecond)
	})
	t.Run("panic", func(t *testing.T) {
		_, err := b.say(echoIn{Do: "panic", Text: "disco"})
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
		require.Eventually(t, func() bool { return strings.Contains(b.host.log.String(), "at the disco") }, 3*time.Second, 10*time.Millisecond)
	})
	t.Run("what is not a plugin's to say", func(t *testing.T) {
		for do, want := range map[string]string{"late": "did not answer in time", "made-up": "made_up", "quota": string(fault.SDKCallsExceeded)} {
			_, err := b.say(echoIn{Do: do})
			f := fault.From(err)
			require.Equal(t, fault.ExecutionError, f.Code, do)
			require.Contains(t, f.Message, "the plugin echo failed in say")
			require.Contains(t, f.Message, want)
			require.Equal(t, fault.Safe, f.Retry)
			_, err = b.invoke(t.Context(), "echo", "send", echoIn{Do: do})
			require.Equal(t, fault.Never, fault.From(err).Retry, "it may have had its effect")
		}
	})
	t.Run("its own deadline is in its log", func(t *testing.T) {
		require.Eventually(t, func() bool { return strings.Contains(b.host.log.String(), context.DeadlineExceeded.Error()) }, 3*time.Second, 10*time.Millisecond)
	})
	t.Run("codes of its own", func(t *testing.T) {
		_, err := b.say(echoIn{Do: "own"})
		f := fault.From(err)
		require.Equal(t, fault.ExecutionError, f.Code)
		require.Equal(t, "not so loud", f.Message)
		require.Equal(t, "whisper", f.Hint)
		require.Equal(t, "/text", f.Path)
		require.Equal(t, fault.Fix, f.Retry)
		raw, err := json.Marshal(f.Details)
		require.NoError(t, err)
		require.JSONEq(t, `{"code":"too_loud","details":{"volume":11}}`, string(raw))
		_, err = b.say(echoIn{Do: "bare"})
		require.Equal(t, "The message is the plugin's own: correct the call, or do without it.", fault.From(err).Hint)
		_, err = b.say(echoIn{Do: "undeclared"})
		require.Equal(t, fault.ExecutionError, fault.CodeOf(err))
		require.NotContains(t, err.Error(), "inner words")
		require.Eventually(t, func() bool {
			return strings.Contains(b.host.log.String(), "is not among Plugin.FaultCodes")
		}, 3*time.Second, 10*time.Millisecond)
	})
	t.Run("what it cannot know", func(t *testing.T) {
		_, err := b.say(echoIn{Do: "script"})
		f := fault.From(err)
		require.Equal(t, fault.NotFound, f.Code)
		require.Equal(t, fault.Fix, f.Retry)
		require.NotEmpty(t, f.Hint)
		require.Zero(t, f.Line)
		require.Empty(t, f.Source)
	})
	t.Run("output too large", func(t *testing.T) {
		_, err := b.say(echoIn{Size: wire.MaxCallBytes})
		require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
	})
	t.Run("large output", func(t *testing.T) {
		out, err := b.say(echoIn{Size: wire.MaxCallBytes - 64<<10})
		require.NoError(t, err)
		require.Len(t, out.Text, wire.MaxCallBytes-64<<10)
	})
	t.Run("input too large", func(t *testing.T) {
		_, err := b.say(echoIn{Text: strings.Repeat("x", wire.MaxInputBytes)})
		require.Equal(t, fault.CallTooLarge, fault.CodeOf(err))
	})
	t.Run("unknown function", func(t *testing.T) {
		_, err := b.invoke(t.Context(), "echo", "sing", echoIn{})
		require.Equal(t, fault.ToolNotFound, fault.CodeOf(err))
	})

	last, err := b.say(echoIn{})
	require.NoError(t, err)
	require.Equal(t, first.Pid, last.Pid, "the process has survived it all")
}

func TestOutputMustFitItsSchema(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	call := func(fn string, count int) (json.RawMessage, *run.Outcome, *fault.Fault) {
		out, o, err := b.engine.Invoke(t.Context(), run.Request{View: b.view(), Principal: auth.Local(), ID: catalog.PluginID("echo", fn), Input: json.RawMessage(fmt.Sprintf(`{"count":%d}`, count))})
		return out, o, fault.From(err)
	}
	out, _, f := call("count", 1)
	require.Nil(t, f)
	require.JSONEq(t, `{"count":1,"words":[]}`, string(out), "a nil slice is an empty list")
	for _, fn := range []string{"count", "count-outside"} {
		_, o, f := call(fn, -1)
		require.Equal(t, fault.ExecutionError, f.Code)
		require.Contains(t, f.Message, "echo."+fn)
		require.Equal(t, "/count", f.Details.([]fault.Detail)[0].Path)
		require.Equal(t, fn == "count-outside", len(o.OutsideEffects) == 1)
	}
}

// TestCallOutcomes: how a call ends is said alike by its fault, the journal and the log,
// which holds nothing that is nobody's defect.
func TestCallOutcomes(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	errByClient := errors.New("the client went away")
	timeUp := fault.New(fault.ToolTimeout, "time is up")
	for _, c := range []struct {
		name, fn string
		in       echoIn
		cancel   error // nil lets the call end
		want     fault.Code
	}{
		{"cancelled", "say", echoIn{SleepMs: 5000}, context.Canceled, fault.Cancelled},
		{"cancelled with a cause", "say", echoIn{SleepMs: 5000}, errByClient, fault.Cancelled},
		{"cancelled with a cause, outside", "send", echoIn{SleepMs: 5000}, errByClient, fault.Cancelled},
		{"cancelled and deaf", "say", echoIn{SleepMs: 1000, Do: "deaf"}, errByClient, fault.Cancelled},
		{"out of time", "say", echoIn{SleepMs: 5000}, timeUp, fault.ToolTimeout},
		{"a deadline", "say", echoIn{SleepMs: 5000}, context.DeadlineExceeded, fault.Timeout},
		{"its own time", "hurry", echoIn{SleepMs: 5000}, nil, fault.ToolTimeout},
		{"its fault", "say", echoIn{Do: "fault"}, nil, fault.Conflict},
		{"its error", "say", echoIn{Do: "error"}, nil, fault.ExecutionError},
		{"its death", "say", echoIn{Do: "die"}, nil, fault.PluginUnavailable},
		{"its death, outside", "send", echoIn{Do: "die"}, nil, fault.OutcomeUnknown},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log syncBuffer
			var rows records
			engine := run.NewEngine(run.Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
			engine.Join(record.New(record.Options{}).Add(&rows))
			ctx, cancel := context.WithCancelCause(t.Context())
			defer cancel(nil)
			if c.cancel != nil {
				time.AfterFunc(100*time.Millisecond, func() { cancel(c.cancel) })
			}
			input, err := json.Marshal(c.in)
			require.NoError(t, err)
			_, _, err = engine.Invoke(ctx, run.Request{View: b.view(), Principal: auth.Local(), ID: catalog.PluginID("echo", c.fn), Input: input})
			require.Equal(t, c.want, fault.CodeOf(err))
			require.Len(t, rows.ended, 1)
			require.Equal(t, string(c.want), rows.ended[0].Outcome)
			require.Len(t, rows.ended[0].Trail, 1)
			require.Equal(t, string(c.want), rows.ended[0].Trail[0].Outcome)
			require.NotContains(t, log.String(), "defect")
			require.NotContains(t, log.String(), "level=ERROR", "the plugin's own log has what is wrong with it")
		})
	}
}

// records is a journal that keeps what ended.
type records struct{ ended []journal.Record }

func (*records) Begin(context.Context, journal.Record) {}

func (r *records) Append(_ context.Context, rec journal.Record) { r.ended = append(r.ended, rec) }

package plugins

import (
	"context"
	"fmt"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/codes"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// startWith is start with other options.
func startWith(t *testing.T, o Options, more values, names ...string) *bench {
	t.Helper()
	b := &bench{t: t, host: &testHost{values: values{"plugins.dir": pluginsDir(t, names...)}, log: &syncBuffer{}}, provider: Provide(o), engine: run.NewEngine(run.Options{})}
	for k, v := range more {
		b.host.values[k] = v
	}
	require.NoError(t, b.provider.Start(t.Context(), b.host))
	t.Cleanup(func() {
		require.NoError(t, b.provider.Stop(context.Background()))
		if t.Failed() {
			t.Log(b.host.log.String())
		}
	})
	return b
}

// A process that is there and answers nothing is replaced; readiness and doctor see it before.
func TestHungProcessIsReplaced(t *testing.T) {
	t.Parallel()
	b := startWith(t, Options{SilentAfter: 3 * time.Second}, values{keyRequired: "echo"}, "echo")
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	require.NoError(t, b.provider.Ready(t.Context()))
	stuck := make(chan error, 1)
	go func() {
		_, err := b.invoke(t.Context(), "echo", "send", echoIn{SleepMs: 60_000})
		stuck <- err
	}()
	require.Eventually(t, func() bool { return b.provider.current["echo"].state().proc.used.Load() }, 5*time.Second, 10*time.Millisecond)
	require.NoError(t, syscall.Kill(out.Pid, syscall.SIGSTOP))
	require.Eventually(t, func() bool { return b.provider.Ready(t.Context()) != nil }, 20*time.Second, 10*time.Millisecond)
	require.False(t, b.provider.Checks(t.Context())[1].OK)
	require.Equal(t, fault.OutcomeUnknown, fault.CodeOf(<-stuck))
	require.Eventually(t, func() bool { return b.provider.Ready(t.Context()) == nil }, 20*time.Second, 10*time.Millisecond)
	require.False(t, alive(strconv.Itoa(out.Pid)))
	again, err := b.say(echoIn{})
	require.NoError(t, err)
	require.NotEqual(t, out.Pid, again.Pid)
	require.Contains(t, b.host.log.String(), "the plugin has answered nothing for 3s; it is being replaced")
}

// A process that works and says nothing of its own accord stays.
func TestSlowProcessIsNotReplaced(t *testing.T) {
	t.Parallel()
	b := startWith(t, Options{SilentAfter: 2 * time.Second}, nil, "echo")
	before, err := b.say(echoIn{})
	require.NoError(t, err)
	after, err := b.say(echoIn{SleepMs: 4500, Do: "deaf"})
	require.NoError(t, err)
	require.Equal(t, before.Pid, after.Pid)
}

// A status of gRPC is the end of a call, not of the process and of other calls with it.
func TestStatusOfAHandler(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "status"), nil)
	before, err := b.invoke(t.Context(), "status", "end", echoIn{})
	require.NoError(t, err)
	other := make(chan error, 1)
	go func() {
		_, err := b.invoke(t.Context(), "status", "end", echoIn{SleepMs: 3000})
		other <- err
	}()
	for _, code := range []codes.Code{codes.Unavailable, codes.Canceled, codes.DeadlineExceeded, codes.ResourceExhausted, codes.Unknown, codes.NotFound} {
		begin := time.Now()
		_, err := b.invoke(t.Context(), "status", "end", echoIn{Size: int(code)})
		f := fault.From(err)
		require.Equal(t, fault.ExecutionError, f.Code, "%v: %v", code, err)
		require.Equal(t, fault.Safe, f.Retry)
		require.Contains(t, f.Message, code.String())
		require.NotContains(t, f.Message+f.Hint, "the handler's own")
		require.Less(t, time.Since(begin), 10*time.Second)
		_, err = b.invoke(t.Context(), "status", "send", echoIn{Size: int(code)})
		require.Equal(t, fault.Never, fault.From(err).Retry, code)
	}
	require.NoError(t, <-other)
	after, err := b.invoke(t.Context(), "status", "end", echoIn{})
	require.NoError(t, err)
	require.Equal(t, before.Pid, after.Pid)
	require.Contains(t, b.host.log.String(), "the handler's own")
}

// Calls of one caller in which the process dies keep that caller's next ones waiting, and nobody
// else's.
func TestCrashesOfOneCaller(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "echo"), nil)
	caller := func(name string) auth.Principal {
		return auth.Principal{Subject: name, Scopes: []string{catalog.ScopeCall}, Sets: []string{auth.All}}
	}
	refused := 0
	for n := range 12 {
		_, err := b.as(caller("ann"), "say", echoIn{Do: "die"})
		f := fault.From(err)
		require.Equal(t, fault.PluginUnavailable, f.Code)
		if f.Details != nil {
			refused++
			require.Contains(t, f.Message, "in a row")
		}
		begin := time.Now()
		_, err = b.as(caller("bob"), "say", echoIn{Text: fmt.Sprint(n)})
		require.NoError(t, err, "round %d", n)
		require.Less(t, time.Since(begin), 20*time.Second)
		_, err = b.invokeAs(t.Context(), caller("ann"), catalog.PluginID("echo", "count"), tallyIn{1})
		require.NoError(t, err, "her other calls are made")
	}
	require.NotZero(t, refused)
}

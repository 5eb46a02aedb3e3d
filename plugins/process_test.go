package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
)

func (b *bench) parent(fn string, in parentIn) (out parentOut) {
	b.t.Helper()
	input, err := json.Marshal(in)
	require.NoError(b.t, err)
	raw, _, err := b.engine.Invoke(b.t.Context(), run.Request{View: b.view(), Principal: auth.Local(), ID: catalog.PluginID("parent", fn), Input: input})
	require.NoError(b.t, err)
	require.NoError(b.t, json.Unmarshal(raw, &out))
	for _, pid := range []*int{&out.Pid, &out.Child} {
		*pid = b.hostPid("parent", *pid)
	}
	return out
}

// TestPluginOutputIsBounded: whatever it prints, it is not held up, and the log has
// the first of it and how much it has not.
func TestPluginOutputIsBounded(t *testing.T) {
	t.Parallel()
	b := start(t, pluginsDir(t, "parent"), nil)
	const flood = 20_000
	before := len(b.host.log.String())
	b.parent("flood", parentIn{Flood: flood})
	b.parent("begin", parentIn{}) // it answers
	require.NoError(t, b.provider.Stop(context.Background()))
	log := b.host.log.String()[before:]
	require.Less(t, len(log), 1<<20)
	require.Contains(t, log, "flood 0 of many")
	dropped := 0
	for _, line := range strings.Split(log, "\n") {
		if _, rest, ok := strings.Cut(line, "the plugin logs too much: "); ok {
			var n int
			_, err := fmt.Sscan(rest, &n)
			require.NoError(t, err)
			dropped += n
		}
	}
	require.Greater(t, dropped, 3*flood, "of four ways")
	require.Less(t, strings.Count(log, "flood "), 2*burstLines)
}

func TestStopPluginThatNeverStarts(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "hung")
	p := Provide(Options{})
	ctx, cancel := context.WithTimeout(t.Context(), 500*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err := p.Start(ctx, &testHost{values: values{"plugins.dir": dir}, log: &syncBuffer{}})
	require.ErrorIs(t, err, context.DeadlineExceeded)
	require.Less(t, time.Since(begin), 5*time.Second, "nobody waits for its start")
	require.NoError(t, p.Stop(t.Context()))
}

// TestCrashLoopSlowsDown: a plugin that dies after each start is started ever more seldom.
func TestCrashLoopSlowsDown(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t, "fleeting")
	start(t, dir, values{"plugins.fleeting.isolation": "trusted"})
	time.Sleep(3 * time.Second)
	starts, err := os.ReadFile(filepath.Join(dir, "fleeting.starts"))
	require.NoError(t, err)
	require.GreaterOrEqual(t, len(starts), 2)
	require.LessOrEqual(t, len(starts), 7)
}

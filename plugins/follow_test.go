package plugins

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/internal/lock"
)

// followed is a bench whose catalog follows the provider's changes, as an app's does.
type followed struct {
	*bench
	dir      string
	snapshot atomic.Pointer[catalog.Snapshot]
}

func follow(t *testing.T, dir string, more values) *followed {
	t.Helper()
	f := &followed{bench: start(t, dir, more), dir: dir}
	f.host.changed = f.renew
	f.renew()
	return f
}

func (f *followed) renew() {
	s, err := catalog.NewSnapshot(f.provider.Offer())
	if err != nil {
		f.t.Error(err)
		return
	}
	if last := f.snapshot.Swap(s); last != nil {
		last.Retire()
	}
}

// call calls through the catalog of now.
func (f *followed) call(fn string, in any) (echoOut, error) {
	input, err := json.Marshal(in)
	require.NoError(f.t, err)
	view := f.snapshot.Load().View(auth.Local(), exposure.Full, false)
	raw, _, err := f.engine.Invoke(f.t.Context(), run.Request{View: view, Principal: auth.Local(), ID: catalog.PluginID("shift", fn), Input: input})
	var out echoOut
	if err == nil {
		require.NoError(f.t, json.Unmarshal(raw, &out))
		out.Pid = f.hostPid("shift", out.Pid)
	}
	return out, err
}

func (f *followed) offers(fn string) bool {
	return f.snapshot.Load().Operation(catalog.PluginID("shift", fn)) != nil
}

// put writes the plugin shift, in a version of two letters, as a build does: beside its place first.
func put(t *testing.T, dir, version string) {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	raw, err := os.ReadFile(self)
	require.NoError(t, err)
	replace(t, dir, append(raw, version...))
}

func replace(t *testing.T, dir string, file []byte) {
	t.Helper()
	draft := filepath.Join(dir, ".draft")
	require.NoError(t, os.WriteFile(draft, file, 0o755))
	require.NoError(t, os.Rename(draft, filepath.Join(dir, "shift")))
}

func (f *followed) eventually(fn func() bool, what string) {
	f.t.Helper()
	require.Eventually(f.t, fn, 20*time.Second, 20*time.Millisecond, what)
}

func (f *followed) check(name string) catalog.Check {
	for _, c := range f.provider.Checks(context.Background()) {
		if c.Name == name {
			return c
		}
	}
	return catalog.Check{}
}

// TestFolderChanges: plugins come, change and go while the app runs, and a run keeps
// the process that it began with.
func TestFolderChanges(t *testing.T) {
	t.Parallel()
	f := follow(t, pluginsDir(t), nil)
	require.False(t, f.offers("say"))

	put(t, f.dir, "v1")
	f.eventually(func() bool { return f.offers("of-v1") }, "it has come")
	first, err := f.call("say", echoIn{})
	require.NoError(t, err)
	require.Equal(t, "v1", first.Text)
	owner := f.snapshot.Load().Owner(catalog.PluginID("shift", "say"))
	digest, err := lock.Digest(filepath.Join(f.dir, "shift"))
	require.NoError(t, err)
	require.Equal(t, &catalog.Owner{Kind: catalog.KindPlugin, Name: "shift", Description: "Changes its version.", Version: "v1", Digest: digest}, owner)
	require.Contains(t, f.check("plugin shift").Detail, "Changes its version.")

	slow := make(chan echoOut, 1)
	go func() {
		out, err := f.call("of-v1", echoIn{SleepMs: 12_000})
		if err != nil {
			t.Error(err)
		}
		slow <- out
	}()
	time.Sleep(200 * time.Millisecond) // it has begun
	put(t, f.dir, "v2")
	f.eventually(func() bool { return f.offers("of-v2") }, "it has changed")
	require.False(t, f.offers("of-v1"))
	second, err := f.call("say", echoIn{})
	require.NoError(t, err)
	require.Equal(t, "v2", second.Text)
	require.NotEqual(t, first.Pid, second.Pid)
	require.True(t, alive(strconv.Itoa(first.Pid)), "a run needs it")
	out := <-slow
	require.Equal(t, "v1", out.Text, "the run kept what it had begun with")
	f.eventually(func() bool { return !alive(strconv.Itoa(first.Pid)) }, "nobody needs the earlier process")

	require.NoError(t, os.Remove(filepath.Join(f.dir, "shift")))
	f.eventually(func() bool { return !f.offers("say") }, "it has gone")
	f.eventually(func() bool { return !alive(strconv.Itoa(second.Pid)) }, "and so has its process")
	require.Empty(t, f.check("plugin shift").Name)
}

// TestReplacementThatDoesNotStart leaves the earlier process in place, and says so.
func TestReplacementThatDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t)
	put(t, dir, "v1")
	f := follow(t, dir, nil)
	first, err := f.call("say", echoIn{})
	require.NoError(t, err)
	replace(t, f.dir, []byte("garbage"))
	f.eventually(func() bool { return !f.check("plugin shift").OK }, "doctor says so")
	require.Contains(t, f.check("plugin shift").Detail, "the new version does not run")
	again, err := f.call("say", echoIn{})
	require.NoError(t, err)
	require.Equal(t, first.Pid, again.Pid)
	put(t, f.dir, "v3")
	// The next try of the faulty one may start it before it is seen to be another file, which starts it again.
	f.eventually(func() bool { return f.offers("of-v3") && f.check("plugin shift").OK }, "a good file follows")
}

// TestReplacedPluginIsNotRestarted: the earlier process of a run that still needs it
// died, and its file is another plugin's now.
func TestReplacedPluginIsNotRestarted(t *testing.T) {
	t.Parallel()
	dir := pluginsDir(t)
	put(t, dir, "v1")
	f := follow(t, dir, nil)
	before := f.snapshot.Load()
	release := before.Lease()
	defer release()
	first, err := f.call("say", echoIn{})
	require.NoError(t, err)
	put(t, f.dir, "v2")
	f.eventually(func() bool { return f.offers("of-v2") }, "it has changed")
	process, err := os.FindProcess(first.Pid)
	require.NoError(t, err)
	require.NoError(t, process.Kill())
	f.eventually(func() bool { return !alive(strconv.Itoa(first.Pid)) }, "dead")
	call := func() error {
		_, _, err := f.engine.Invoke(t.Context(), run.Request{View: before.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.PluginID("shift", "of-v1"), Input: json.RawMessage(`{}`)})
		return err
	}
	require.Equal(t, fault.PluginUnavailable, fault.CodeOf(call()))
	f.eventually(func() bool { return strings.Contains(call().Error(), "replaced or removed") }, "it says why")
}

func TestReloadSettings(t *testing.T) {
	t.Parallel()
	f := follow(t, pluginsDir(t, "echo"), values{"plugins.echo.greeting": "moin"})
	b := f.bench
	reload := func(more values) error {
		next := values{"plugins.dir": b.host.values["plugins.dir"]}
		for k, v := range more {
			next[k] = v
		}
		apply, err := b.provider.Reload(next)
		if err == nil {
			apply()
		}
		return err
	}
	require.ErrorContains(t, reload(values{"plugins.echo.greting": "x"}), `did you mean "greeting"?`)
	require.ErrorContains(t, reload(values{"plugins.ecko.greeting": "x"}), `there is no plugin "ecko"`)
	require.NoError(t, reload(values{"plugins.echo.greeting": "servus"}))
	f.eventually(func() bool {
		out, err := b.say(echoIn{})
		return err == nil && out.Setting == "servus"
	}, "the new settings hold")
	require.NoError(t, reload(values{"plugins.echo.greeting": "rude"}), "what the plugin refuses is known later")
	f.eventually(func() bool { return strings.Contains(f.check("plugin echo").Detail, "be polite") }, "doctor says so")
	out, err := b.say(echoIn{})
	require.NoError(t, err)
	require.Equal(t, "servus", out.Setting, "the earlier ones stay")
	require.NoError(t, reload(nil))
	f.eventually(func() bool {
		out, err := b.say(echoIn{})
		return err == nil && out.Setting == "hello"
	}, "the default holds again")
}

package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/run"
)

// values are a configuration: declared keys and free ones.
type values map[string]string

func (v values) Bool(key string) bool          { return v[key] != "false" }
func (v values) Int(string) int                { panic("undeclared") }
func (v values) Strings(key string) []string   { return strings.Fields(v[key]) }
func (v values) Duration(string) time.Duration { panic("undeclared") }
func (v values) String(key string) string      { return v[key] }
func (v values) IsSet(key string) bool         { return v[key] != "" }

func (v values) Under(prefix string) map[string]string {
	out := map[string]string{}
	for k, s := range v {
		if rest, ok := strings.CutPrefix(k, prefix+"."); ok && k != keyDir && k != keyRequired && k != keyLocked && k != keyStateDir {
			out[rest] = s
		}
	}
	return out
}

type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type testHost struct {
	values  values
	config  string // path of the configuration's file, "" for none
	log     *syncBuffer
	changes atomic.Int32
	changed func() // nil but where a test follows the catalog
	keeps   bool   // what plugins say of themselves, as outside of tests
	oneShot bool
}

var _ catalog.Host = (*testHost)(nil)

func (*testHost) App() string                 { return "test" }
func (*testHost) Command() string             { return "test" }
func (*testHost) Version() string             { return "0" }
func (h *testHost) Settings() catalog.Values  { return h.values }
func (*testHost) Snapshot() *catalog.Snapshot { return nil }

func (h *testHost) Changed() {
	h.changes.Add(1)
	if h.changed != nil {
		h.changed()
	}
}
func (h *testHost) ConfigFile() string { return h.config }

func (h *testHost) Testing() bool { return !h.keeps }
func (h *testHost) OneShot() bool { return h.oneShot }

func (h *testHost) Log() *slog.Logger {
	return slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
}

// pluginsDir makes a folder in which the test binary lies under some names.
func pluginsDir(t *testing.T, names ...string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	dir := filepath.Join(t.TempDir(), "plugins")
	require.NoError(t, os.Mkdir(dir, 0o755))
	for _, name := range names {
		require.NoError(t, os.Symlink(self, filepath.Join(dir, name)))
	}
	return dir
}

// patience is how long tests that are not about it wait for a process that starts: under the race
// detector, beside the tests of other packages, one takes seconds.
const patience = time.Minute

// bench is a started provider with the engine that calls go through.
type bench struct {
	t        *testing.T
	host     *testHost
	provider *Provider
	engine   *run.Engine
}

func start(t *testing.T, dir string, more values) *bench {
	t.Helper()
	host := &testHost{values: values{"plugins.dir": dir}, log: &syncBuffer{}}
	for k, v := range more {
		host.values[k] = v
	}
	return startOn(t, host)
}

func startOn(t *testing.T, host *testHost) *bench {
	t.Helper()
	b := &bench{t: t, host: host, provider: Provide(Options{RestartWait: patience, StartTimeout: patience}), engine: run.NewEngine(run.Options{})}
	require.NoError(t, b.provider.Start(t.Context(), b.host))
	t.Cleanup(func() {
		require.NoError(t, b.provider.Stop(context.Background()))
		if t.Failed() {
			t.Log(b.host.log.String())
		}
	})
	return b
}

func (b *bench) view() *catalog.View {
	s, err := catalog.NewSnapshot(b.provider.Offer())
	require.NoError(b.t, err)
	return s.View(auth.Local(), exposure.Full, false)
}

// invoke calls through the engine.
func (b *bench) invoke(ctx context.Context, domain, fn string, in any) (echoOut, error) {
	return b.invokeAs(ctx, auth.Local(), catalog.PluginID(domain, fn), in)
}

func (b *bench) invokeAs(ctx context.Context, who auth.Principal, id catalog.ID, in any) (echoOut, error) {
	input, err := json.Marshal(in)
	require.NoError(b.t, err)
	raw, _, err := b.engine.Invoke(ctx, run.Request{View: b.view(), Principal: who, ID: id, Input: input, Surface: "app", Trace: "t1"})
	var out echoOut
	if err == nil {
		require.NoError(b.t, json.Unmarshal(raw, &out))
		out.Pid = b.hostPid(id.Owner, out.Pid)
	}
	return out, err
}

// hostPid returns the id that a process of a plugin has outside of the jail in which it has told its own. It is
// asked while the process runs.
func (b *bench) hostPid(domain string, inside int) int {
	b.provider.mu.Lock()
	pl := b.provider.current[domain]
	b.provider.mu.Unlock()
	if pl == nil || pl.state().proc == nil || pl.state().proc.place.jail == nil {
		return inside
	}
	first, err := strconv.Atoi(pl.state().proc.child.ID())
	require.NoError(b.t, err)
	all, err := filepath.Glob("/proc/[0-9]*/status")
	require.NoError(b.t, err)
	for _, path := range all {
		text, err := os.ReadFile(path)
		if err != nil {
			continue // it has ended
		}
		_, ids, _ := strings.Cut(string(text), "\nNSpid:")
		ids, _, _ = strings.Cut(ids, "\n")
		known := strings.Fields(ids)
		if len(known) < 2 || known[len(known)-1] != strconv.Itoa(inside) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(b.t, err)
		if sameNamespace(pid, first) {
			return pid
		}
	}
	return inside
}

// sameNamespace reports whether two processes see the same others.
func sameNamespace(a, b int) bool {
	one, err := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", a))
	other, err2 := os.Readlink(fmt.Sprintf("/proc/%d/ns/pid", b))
	return err == nil && err2 == nil && one == other
}

// as calls a function of the plugin echo.
func (b *bench) as(who auth.Principal, fn string, in echoIn) (echoOut, error) {
	return b.invokeAs(b.t.Context(), who, catalog.PluginID("echo", fn), in)
}

func (b *bench) say(in echoIn) (echoOut, error) { return b.invoke(b.t.Context(), "echo", "say", in) }

// alive reports whether a process is there and no zombie.
func alive(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

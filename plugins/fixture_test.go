package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/plugins/wire"
)

// The test binary is also every plugin of the tests: linked into a plugins'
// folder under a name, it serves what the name says.
func TestMain(m *testing.M) {
	switch filepath.Base(os.Args[0]) {
	case "echo":
		kit.Serve(echoPlugin("echo"))
	case "wrong-domain":
		kit.Serve(echoPlugin("other"))
	case "silent":
		os.Exit(3)
	case "future":
		serveFuture()
	case "flaky":
		serveFlaky()
	case "app":
		serveApp()
	default:
		os.Exit(m.Run())
	}
}

type echoIn struct {
	Text    string `json:"text,omitempty"    jsonschema_description:"what to say"`
	SleepMs int    `json:"sleepMs,omitempty" jsonschema:"minimum=0"`
	Size    int    `json:"size,omitempty"`
	Do      string `json:"do,omitempty"      jsonschema:"enum=panic,enum=fault,enum=error,enum=print,enum=deaf,enum=progress,enum=die,enum=late,enum=made-up,enum=quota,enum=script"`
}

type echoOut struct {
	Text    string   `json:"text"`
	Pid     int      `json:"pid"`
	Key     string   `json:"key"`
	Set     string   `json:"set"`
	Trace   string   `json:"trace"`
	DryRun  bool     `json:"dryRun"`
	Env     []string `json:"env"`
	Setting string   `json:"setting"`
}

// tally says less than its schema: a count that is below the minimum.
type tally struct {
	Count int      `json:"count" jsonschema:"minimum=1"`
	Words []string `json:"words"`
}

// count returns what its caller wants, fit or unfit.
func count(_ context.Context, _ kit.Call, in tallyIn) (tally, error) {
	return tally{Count: in.Count}, nil
}

type tallyIn struct {
	Count int `json:"count"`
}

func echoPlugin(domain string) kit.Plugin {
	greeting := ""
	echo := func(ctx context.Context, call kit.Call, in echoIn) (echoOut, error) {
		out := echoOut{Text: in.Text + strings.Repeat("x", in.Size), Pid: os.Getpid(), Key: call.Key, Set: call.Set, Trace: call.Trace, DryRun: call.DryRun, Env: os.Environ(), Setting: greeting}
		switch in.Do {
		case "panic":
			panic("at the " + in.Text)
		case "fault":
			return out, fault.New(fault.Conflict, "taken").WithHint("take another").WithPath("/text").WithDetails([]fault.Detail{{Path: "/text", Message: "taken"}})
		case "error":
			return out, errors.New("inner words")
		case "late":
			return out, fmt.Errorf("ask a peer: %w", context.DeadlineExceeded)
		case "made-up":
			return out, &fault.Fault{Code: "made_up", Message: "boo"}
		case "quota":
			return out, fault.New(fault.SDKCallsExceeded, "")
		case "script":
			return out, &fault.Fault{Code: fault.NotFound, Message: "no text", Retry: "perhaps", Line: 7, Column: 3, Source: "x"}
		case "print":
			fmt.Println("printed " + in.Text)
			call.Log.Info("logged " + in.Text)
		case "progress":
			call.Progress(1, 2, "half")
		case "die":
			os.Exit(7)
		case "deaf":
			time.Sleep(time.Duration(in.SleepMs) * time.Millisecond)
			return out, nil
		}
		select {
		case <-time.After(time.Duration(in.SleepMs) * time.Millisecond):
			return out, nil
		case <-ctx.Done():
			return out, ctx.Err()
		}
	}
	return kit.Plugin{
		Domain: domain, Version: "1.2.3", Description: "Says it again.",
		Settings: []kit.Setting{{Key: "greeting", Default: "hello"}},
		Configure: func(_ context.Context, s map[string]string) error {
			if greeting = s["greeting"]; greeting == "rude" {
				return errors.New("greeting: be polite")
			}
			return nil
		},
		Functions: []kit.Function{
			kit.Func("say", "Say it again.", echo, kit.ReadOnly(), kit.Example(echoIn{Text: "hi"})),
			kit.Func("hurry", "Say it within a moment.", echo, kit.ReadOnly(), kit.Timeout(200*time.Millisecond)),
			kit.Func("send", "Say it to the world.", echo, kit.Outside()),
			kit.Func("count", "Return a count.", count, kit.ReadOnly()),
			kit.Func("count-outside", "Return a count to the world.", count, kit.Outside()),
		},
	}
}

// serveFuture is a plugin of a contract that nobody has written yet.
func serveFuture() {
	set := wire.Plugins(wire.UnimplementedPluginServer{})[wire.ContractVersion]
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: map[int]goplugin.PluginSet{wire.ContractVersion + 7: set},
		GRPCServer:       func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(o...) },
	})
}

// serveFlaky does not start unless a file beside it says so.
func serveFlaky() {
	if _, err := os.Stat(os.Args[0] + ".txt"); err != nil {
		os.Exit(4)
	}
	kit.Serve(echoPlugin("flaky"))
}

// serveApp is an app that starts the plugin echo and then hangs, so that a test
// can kill it.
func serveApp() {
	host := &testHost{values: values{"plugins.dir": filepath.Dir(os.Args[0]) + "/plugins"}, log: &syncBuffer{}}
	p := Provide(Options{})
	if err := p.Start(context.Background(), host); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	fmt.Println(p.plugins[0].state().proc.child.ID())
	select {}
}

// values are a configuration: declared keys and free ones.
type values map[string]string

func (v values) Bool(string) bool              { panic("undeclared") }
func (v values) Int(string) int                { panic("undeclared") }
func (v values) Strings(string) []string       { panic("undeclared") }
func (v values) Duration(string) time.Duration { panic("undeclared") }
func (v values) String(key string) string      { return v[key] }
func (v values) IsSet(key string) bool         { return v[key] != "" }

func (v values) Under(prefix string) map[string]string {
	out := map[string]string{}
	for k, s := range v {
		if rest, ok := strings.CutPrefix(k, prefix+"."); ok && k != keyDir {
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
	log     *syncBuffer
	changes atomic.Int32
}

var _ catalog.Host = (*testHost)(nil)

func (*testHost) App() string                 { return "test" }
func (*testHost) Version() string             { return "0" }
func (h *testHost) Settings() catalog.Values  { return h.values }
func (*testHost) Snapshot() *catalog.Snapshot { return nil }
func (h *testHost) Changed()                  { h.changes.Add(1) }
func (*testHost) Testing() bool               { return true }
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

// bench is a started provider with the engine that calls go through.
type bench struct {
	t        *testing.T
	host     *testHost
	provider *Provider
	engine   *run.Engine
}

func start(t *testing.T, dir string, more values) *bench {
	t.Helper()
	b := &bench{t: t, host: &testHost{values: values{"plugins.dir": dir}, log: &syncBuffer{}}, provider: Provide(Options{}), engine: run.NewEngine(run.Options{})}
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

func (b *bench) view() *catalog.View {
	s, err := catalog.NewSnapshot(b.provider.Offer())
	require.NoError(b.t, err)
	return s.View(auth.Local(), exposure.Full, false)
}

// invoke calls through the engine.
func (b *bench) invoke(ctx context.Context, domain, fn string, in any) (echoOut, error) {
	input, err := json.Marshal(in)
	require.NoError(b.t, err)
	raw, _, err := b.engine.Invoke(ctx, run.Request{View: b.view(), Principal: auth.Local(), ID: catalog.PluginID(domain, fn), Input: input, Surface: "app", Trace: "t1"})
	var out echoOut
	if err == nil {
		require.NoError(b.t, json.Unmarshal(raw, &out))
	}
	return out, err
}

func (b *bench) say(in echoIn) (echoOut, error) { return b.invoke(b.t.Context(), "echo", "say", in) }

// alive tells whether a process is there and no zombie.
func alive(pid string) bool {
	out, err := exec.Command("ps", "-o", "stat=", "-p", pid).Output()
	return err == nil && !strings.HasPrefix(strings.TrimSpace(string(out)), "Z")
}

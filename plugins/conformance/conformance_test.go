package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/plugins/internal/wire"
	"github.com/koan-go/koan/plugins/kit"
)

// This test binary is also the plugins of the tests, by the name of its file.
func TestMain(m *testing.M) {
	switch name := filepath.Base(os.Args[0]); {
	case name == "good":
		kit.Serve(good())
	case strings.HasPrefix(name, "bad-"):
		serve(&bad{way: strings.TrimPrefix(name, "bad-"), domain: name})
	default:
		os.Exit(m.Run())
	}
}

type in struct {
	Size int `json:"size,omitempty" jsonschema:"minimum=0"`
}

type out struct {
	Text string `json:"text"`
}

func good() kit.Plugin {
	say := func(_ context.Context, call kit.Call, in in) (out, error) {
		call.Progress(1, 2, "half")
		call.Log.Info("said")
		if err := os.WriteFile(filepath.Join(call.StateDir(), call.ID), nil, 0o600); err != nil {
			return out{}, err
		}
		return out{strings.Repeat("x", in.Size)}, nil
	}
	return kit.Plugin{
		Domain: "good", Version: "1.0.0", Description: "Says something.", State: true,
		Settings: []kit.Setting{{Key: "city"}},
		Configure: func(_ context.Context, s map[string]string) error {
			if s["city"] == "atlantis" {
				return errors.New("city: it has sunk")
			}
			return nil
		},
		Functions: []kit.Function{
			kit.Func("say", "Say something.", say, kit.ReadOnly(), kit.Example(in{Size: 100 << 10})),
			kit.Func("send", "Send something.", say, kit.Outside()),
		},
	}
}

// bad is a plugin with one defect.
type bad struct {
	wire.UnimplementedPluginServer
	way, domain string
	asked       int
}

func (b *bad) Describe(context.Context, *wire.DescribeRequest) (*wire.Manifest, error) {
	b.asked++
	m := &wire.Manifest{ContractVersion: wire.ContractVersion, Domain: b.domain, Version: "1", Functions: []*wire.Function{{
		Name: "say", InputSchema: []byte(`{"type":"object","additionalProperties":false}`), OutputSchema: []byte(`{"type":"object","required":["text"]}`),
		Example: []byte(`{}`), Effects: &wire.Effects{ReadOnly: true},
	}}}
	switch b.way {
	case "version":
		m.ContractVersion = 2
	case "domain":
		m.Domain = "other"
	case "schema":
		m.Functions[0].OutputSchema = []byte(`{"type":"array"}`)
	case "moody":
		m.Version = fmt.Sprint(b.asked)
	case "status":
		return nil, status.Error(codes.Internal, "not today")
	}
	return m, nil
}

func (b *bad) Configure(context.Context, *wire.ConfigureRequest) (*wire.ConfigureResponse, error) {
	return &wire.ConfigureResponse{}, nil
}

func (b *bad) Call(req *wire.CallRequest, s grpc.ServerStreamingServer[wire.CallEvent]) error {
	send := func(e *wire.CallEvent) { _ = s.Send(e) }
	end := func(output string) error {
		return s.Send(&wire.CallEvent{Event: &wire.CallEvent_Output{Output: []byte(output)}})
	}
	refuse := func(code string) error {
		return s.Send(&wire.CallEvent{Event: &wire.CallEvent_Fault{Fault: fmt.Appendf(nil, `{"code":%q,"message":"no"}`, code)}})
	}
	switch {
	case b.way == "dying":
		os.Exit(3)
	case b.way == "unknown" && req.GetFunction() != "say":
		return status.Error(codes.Unimplemented, "what?")
	case req.GetFunction() != "say":
		return refuse("tool_not_found")
	case b.way != "lax" && string(req.GetInput()) != "{}":
		return refuse("invalid_payload")
	}
	switch b.way {
	case "unfit":
		return end(`{"txt":1}`)
	case "words":
		return end(`hello`)
	case "progress":
		send(&wire.CallEvent{Event: &wire.CallEvent_Progress{Progress: &wire.Progress{Done: 3, Total: 2}}})
	case "parts":
		send(&wire.CallEvent{Event: &wire.CallEvent_Part{Part: &wire.Part{Size: 99, Data: []byte(`{"text":`)}}})
		return end(`"hi"}`)
	case "endless":
		return nil
	case "asking":
		send(&wire.CallEvent{Event: &wire.CallEvent_Question{Question: &wire.Question{Id: 1}}})
	case "twice":
		_ = end(`{"text":"hi"}`)
	case "clumsy":
		return s.Send(&wire.CallEvent{Event: &wire.CallEvent_Fault{Fault: []byte("no")}})
	}
	return end(`{"text":"hi"}`)
}

// serve serves a plugin without the kit.
func serve(b *bad) {
	switch b.way {
	case "silent":
		os.Exit(3)
	case "chatty":
		fmt.Println("Hello!")
	case "deaf":
		goplugin.Serve(config(b))
		time.Sleep(time.Minute)
	}
	goplugin.Serve(config(b))
}

func config(b *bad) *goplugin.ServeConfig {
	return &goplugin.ServeConfig{
		HandshakeConfig: wire.Handshake, VersionedPlugins: wire.Plugins(b),
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(o...) },
	}
}

// link is the path of the test binary under a name.
func link(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(self, path))
	return path
}

func failed(all []Finding) (names []string) {
	for _, f := range all {
		if !f.OK {
			names = append(names, f.Name)
		}
	}
	return names
}

func finding(t *testing.T, all []Finding, name string) Finding {
	t.Helper()
	i := slices.IndexFunc(all, func(f Finding) bool { return f.Name == name })
	require.GreaterOrEqual(t, i, 0, "%s in %v", name, all)
	return all[i]
}

func TestAGoodPluginPasses(t *testing.T) {
	t.Parallel()
	all := Check(t.Context(), link(t, "good"), Options{Inputs: map[string]json.RawMessage{"send": []byte(`{"size":3}`)}})
	require.True(t, Passed(all), "%v", all)
	names := []string{}
	for _, f := range all {
		names = append(names, f.Name)
	}
	require.Equal(t, []string{
		"handshake", "describe", "contract version", "domain", "manifest", "settings", "health", "call say", "call send",
		"unknown function", "unfit input", "parallel calls", "cancellation", "deadline", "whole output", "events", "converse", "end", "log",
	}, names)
	require.Contains(t, finding(t, all, "handshake").Detail, "confined")
	require.Regexp(t, `^progress: \d+, of these with a partial result: 0, parts: [1-9]\d*, longest output: 102411 bytes$`, finding(t, all, "events").Detail)
	require.Regexp(t, `^entries with a level during calls: [1-9]`, finding(t, all, "log").Detail)
}

func TestDefectsAreFound(t *testing.T) {
	t.Parallel()
	for way, want := range map[string]struct{ check, detail string }{
		"silent":   {"handshake", "exited before the handshake"},
		"chatty":   {"handshake", "Hello!"},
		"version":  {"contract version", "the manifest says 2; this is 1"},
		"domain":   {"domain", `the domain is "other"`},
		"schema":   {"manifest", `the output schema of "say"`},
		"moody":    {"describe", "differ"},
		"status":   {"describe", "not today"},
		"dying":    {"process", "it died in a call of say"},
		"unfit":    {"call say", "does not fit the output schema"},
		"words":    {"call say", "is not JSON"},
		"unknown":  {"unknown function", "Unimplemented: what?"},
		"lax":      {"unfit input", "an output of"},
		"progress": {"events", "progress of 3 is more than its total of 2"},
		"parts":    {"events", "have 13 bytes, and their size says 99"},
		"endless":  {"call say", "without an output or a fault"},
		"asking":   {"call say", "only Converse takes questions"},
		"twice":    {"call say", "an event after the last one"},
		"clumsy":   {"call say", "not a JSON object with a code and a message"},
		"deaf":     {"end", "it had to be killed"},
	} {
		t.Run(way, func(t *testing.T) {
			t.Parallel()
			all := Check(t.Context(), link(t, "bad-"+way), Options{})
			require.False(t, Passed(all))
			f := finding(t, all, want.check)
			require.False(t, f.OK, "%v", all)
			require.Contains(t, f.Detail, want.detail)
			require.NotEmpty(t, f.Hint)
		})
	}
}

func TestWhatIsNoPluginIsNamed(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	text := filepath.Join(folder, "text")
	require.NoError(t, os.WriteFile(text, []byte("hello"), 0o600))
	for path, want := range map[string]string{
		text: "not executable", filepath.Join(folder, "missing"): "no such file", link(t, "Good"): "not lower-case kebab", link(t, "tools"): "reserved",
	} {
		all := Check(t.Context(), path, Options{})
		require.Equal(t, []string{"handshake"}, failed(all))
		require.Contains(t, all[0].Detail, want)
	}
}

// A folder is named by the plugin that lies in it.
func TestSettingsAreThePluginsToRefuse(t *testing.T) {
	t.Parallel()
	path := link(t, "good")
	folder := filepath.Join(t.TempDir(), "good")
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.Rename(path, filepath.Join(folder, "good")))
	all := Check(t.Context(), folder, Options{Keys: map[string]string{"settings.city": "atlantis"}})
	require.Equal(t, []string{"settings"}, failed(all))
	require.Contains(t, finding(t, all, "settings").Detail, "city: it has sunk")
	all = Check(t.Context(), folder, Options{Keys: map[string]string{"city": "berlin", "isolation": "trusted"}})
	require.True(t, Passed(all), "%v", all)
	require.Contains(t, finding(t, all, "handshake").Detail, "trusted")
}

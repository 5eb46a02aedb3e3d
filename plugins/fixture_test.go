package plugins

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	neturl "net/url"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/internal/wire"
	"github.com/koan-go/koan/plugins/kit"
)

// The test binary is also every plugin of the tests: linked into a plugins'
// folder under a name, it serves what the name says.
func TestMain(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if strings.HasPrefix(name, "a-hung") {
		time.Sleep(time.Minute)
		return
	}
	if kind, hostile := strings.CutPrefix(name, hostilePrefix); hostile {
		serveHostile(kind)
		return
	}
	switch name {
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
	case "shift":
		kit.Serve(shiftPlugin())
	case "hung":
		time.Sleep(time.Minute)
	case "fleeting":
		serveFleeting()
	case "status":
		serveStatus()
	case "mistaken":
		kit.Serve(kit.Plugin{Domain: "mistaken", Version: "1", Functions: []kit.Function{
			kit.Func("list", "List names.", func(context.Context, kit.Call, struct{}) ([]string, error) { return nil, nil }),
		}})
	case "asker":
		serveAsker()
	case "foreign":
		serveForeign()
	case "parent":
		kit.Serve(parentPlugin())
	case "app":
		serveApp()
	case "app-with-child":
		serveAppWithChild()
	default:
		os.Exit(m.Run())
	}
}

type echoIn struct {
	Text    string `json:"text,omitempty"    jsonschema_description:"what to say"`
	SleepMs int    `json:"sleepMs,omitempty" jsonschema:"minimum=0"`
	Size    int    `json:"size,omitempty"`
	Do      string `json:"do,omitempty"      jsonschema:"enum=read,enum=get,enum=hoard,enum=fill,enum=panic,enum=fault,enum=error,enum=print,enum=deaf,enum=progress,enum=die,enum=late,enum=made-up,enum=quota,enum=script,enum=own,enum=bare,enum=undeclared,enum=partial"`
}

type echoOut struct {
	Text    string   `json:"text"`
	Pid     int      `json:"pid"`
	Key     string   `json:"key"`
	Set     string   `json:"set"`
	Trace   string   `json:"trace"`
	DryRun  bool     `json:"dryRun"`
	Local   bool     `json:"local"`
	Subject string   `json:"subject"`
	Scopes  []string `json:"scopes"`
	Sets    []string `json:"sets"`
	Env     []string `json:"env"`
	Setting string   `json:"setting"`
}

// hoard is what a plugin keeps in memory.
var hoard []byte

// get returns what a URL answers, or why nothing does.
func get(url string) string {
	client := http.Client{Timeout: 10 * time.Second, Transport: &http.Transport{Proxy: func(*http.Request) (*neturl.URL, error) {
		if p := os.Getenv("HTTP_PROXY"); p != "" { // unlike the default, also for this machine
			return neturl.Parse(p)
		}
		return nil, nil
	}}}
	r, err := client.Get(url)
	if err != nil {
		return err.Error()
	}
	defer r.Body.Close()
	text, err := io.ReadAll(r.Body)
	return fmt.Sprintf("%d %s %v", r.StatusCode, text, err)
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
		if in.Do == "hoard" { // it may be most of the memory
			hoard = bytes.Repeat([]byte{1}, in.Size)
			if in.Text == "stay" {
				<-ctx.Done()
			}
			return echoOut{Pid: os.Getpid(), Env: []string{}}, nil
		}
		out := echoOut{Text: in.Text + strings.Repeat("x", in.Size), Pid: os.Getpid(), Key: call.Key, Set: call.Set, Trace: call.Trace, DryRun: call.DryRun, Local: call.Local, Subject: call.Caller.Subject, Scopes: call.Caller.Scopes, Sets: call.Caller.Sets, Env: os.Environ(), Setting: greeting}
		switch in.Do {
		case "panic":
			panic("at the " + in.Text)
		case "fault":
			return out, fault.New(fault.Conflict, "taken").WithHint("take another").WithPath("/text").WithDetails([]fault.Detail{{Path: "/text", Message: "taken"}})
		case "error":
			return out, errors.New("inner words")
		case "late":
			return out, fmt.Errorf("ask a peer: %w", context.DeadlineExceeded)
		case "own":
			return out, fmt.Errorf("in echo: %w", &kit.Fault{Code: "too_loud", Message: "not so loud", Hint: "whisper", Path: "/text", Details: map[string]any{"volume": 11}})
		case "bare":
			return out, &kit.Fault{Code: "too_loud", Message: "not so loud"}
		case "undeclared":
			return out, &kit.Fault{Code: "too_quiet", Message: "inner words"}
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
		case "partial":
			for n := range 6 {
				call.Partial(map[string]any{"n": n, "text": strings.Repeat("y", in.Size)})
			}
			call.Progress(1, 1, "")
			out.Text = ""
		case "die":
			os.Exit(7)
		case "read":
			text, err := os.ReadFile(in.Text)
			out.Text = string(text)
			return out, err
		case "get":
			out.Text = get(in.Text)
			return out, nil
		case "fill":
			out.Text = ""
			return out, os.WriteFile(filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "full"), make([]byte, in.Size), 0o600)
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
		Domain: domain, Version: "1.2.3", Description: "Says it again.", FaultCodes: []string{"too_loud"},
		Settings: []kit.Setting{{Key: "greeting", Default: "hello"}, {Key: "badge", Default: "a default", Secret: true}},
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

// shiftPlugin is of the version that its file ends with, and has a function of that
// name.
func shiftPlugin() kit.Plugin {
	file, err := os.ReadFile(os.Args[0])
	if err != nil {
		os.Exit(5)
	}
	version := file[len(file)-2:]
	wait := func(ctx context.Context, _ kit.Call, in echoIn) (echoOut, error) {
		time.Sleep(time.Duration(in.SleepMs) * time.Millisecond)
		return echoOut{Text: string(version), Pid: os.Getpid(), Env: []string{}}, nil
	}
	return kit.Plugin{
		Domain: "shift", Version: string(version), Description: "  Changes\nits version. ",
		Functions: []kit.Function{kit.Func("say", "Say the version.", wait, kit.ReadOnly()), kit.Func("of-"+string(version), "Say the version.", wait, kit.ReadOnly())},
	}
}

// statusServer is a plugin that is not made with the kit. A call ends with the status of gRPC whose
// number is the input's size, or sleeps for the input's time.
type statusServer struct{ wire.UnimplementedPluginServer }

func (statusServer) Describe(context.Context, *wire.DescribeRequest) (*wire.Manifest, error) {
	object := []byte(`{"type":"object"}`)
	return &wire.Manifest{ContractVersion: wire.ContractVersion, Domain: "status", Version: "1", Functions: []*wire.Function{
		{Name: "end", InputSchema: object, OutputSchema: object, Effects: &wire.Effects{ReadOnly: true}},
		{Name: "send", InputSchema: object, OutputSchema: object, Effects: &wire.Effects{Outside: true}},
	}}, nil
}

func (statusServer) Configure(context.Context, *wire.ConfigureRequest) (*wire.ConfigureResponse, error) {
	return &wire.ConfigureResponse{}, nil
}

func (statusServer) Call(req *wire.CallRequest, stream grpc.ServerStreamingServer[wire.CallEvent]) error {
	var in echoIn
	if err := json.Unmarshal(req.GetInput(), &in); err != nil {
		return err
	}
	time.Sleep(time.Duration(in.SleepMs) * time.Millisecond)
	if in.Size > 0 {
		return status.Error(codes.Code(in.Size), "the handler's own")
	}
	return stream.Send(&wire.CallEvent{Event: &wire.CallEvent_Output{Output: fmt.Appendf(nil, `{"pid":%d}`, os.Getpid())}})
}

func serveStatus() {
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig: wire.Handshake, VersionedPlugins: wire.Plugins(statusServer{}),
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server { return grpc.NewServer(wire.ServerOptions(o)...) },
	})
}

// serveForeign is a plugin as in another language: it has the services of the contract and of health
// alone, and writes a file when it gets SIGTERM.
func serveForeign() {
	term := make(chan os.Signal, 1)
	signal.Notify(term, syscall.SIGTERM)
	listener, err := net.Listen("unix", filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), "socket"))
	if err != nil {
		os.Exit(8)
	}
	server := grpc.NewServer()
	wire.RegisterPluginServer(server, foreignServer{})
	grpc_health_v1.RegisterHealthServer(server, health.NewServer())
	go func() {
		<-term
		_ = os.WriteFile(os.Args[0]+".ended", nil, 0o600)
		server.Stop()
	}()
	fmt.Printf("1|%d|unix|%s|grpc\n", wire.ContractVersion, listener.Addr())
	_ = server.Serve(listener)
}

type foreignServer struct{ statusServer }

func (f foreignServer) Describe(ctx context.Context, req *wire.DescribeRequest) (*wire.Manifest, error) {
	m, err := f.statusServer.Describe(ctx, req)
	m.Domain = "foreign"
	return m, err
}

// serveFleeting notes each start in a file beside it, and is gone soon after.
func serveFleeting() {
	f, err := os.OpenFile(os.Args[0]+".starts", os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		_, err = f.WriteString("x")
	}
	if err != nil {
		os.Exit(6)
	}
	time.AfterFunc(20*time.Millisecond, func() { os.Exit(7) })
	kit.Serve(echoPlugin("fleeting"))
}

type parentIn struct {
	Session bool `json:"session,omitempty"` // the child begins a session of its own
	Flood   int  `json:"flood,omitempty"`   // lines on each way out
}

type parentOut struct {
	Pid   int `json:"pid"`
	Child int `json:"child"`
}

// parentPlugin starts processes, and prints past the kit.
func parentPlugin() kit.Plugin {
	begin := func(_ context.Context, _ kit.Call, in parentIn) (parentOut, error) {
		out := parentOut{Pid: os.Getpid()}
		cmd := exec.Command("sleep", "300")
		cmd.Stdout, cmd.Stderr = os.NewFile(1, "stdout"), os.NewFile(2, "stderr") // the pipes to the app
		cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: in.Session}
		if err := cmd.Start(); err != nil {
			return out, err
		}
		out.Child = cmd.Process.Pid
		return out, nil
	}
	flood := func(_ context.Context, call kit.Call, in parentIn) (parentOut, error) {
		long := strings.Repeat("l", 100<<10) + "\n"
		for _, fd := range []int{1, 2} {
			if _, err := syscall.Write(fd, []byte(long)); err != nil {
				return parentOut{}, err
			}
		}
		for n := range in.Flood {
			line := fmt.Sprintf("flood %d of many, many lines\n", n)
			for _, fd := range []int{1, 2} {
				if _, err := syscall.Write(fd, []byte(line)); err != nil {
					return parentOut{}, err
				}
			}
			fmt.Print(line)
			call.Log.Error(line)
		}
		return parentOut{Pid: os.Getpid()}, nil
	}
	return kit.Plugin{
		Domain: "parent", Version: "1.0.0", Description: "Starts processes.",
		Functions: []kit.Function{kit.Func("begin", "Start a process.", begin), kit.Func("flood", "Print much.", flood)},
	}
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
	fmt.Println(p.offering()[0].state().proc.child.ID())
	select {}
}

// serveAppWithChild is an app whose plugin has started a process in a session of its own.
func serveAppWithChild() {
	host := &testHost{values: values{"plugins.dir": filepath.Dir(os.Args[0]) + "/plugins", "plugins.parent.isolation": "trusted"}, log: &syncBuffer{}}
	p := Provide(Options{})
	if err := p.Start(context.Background(), host); err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	s, err := catalog.NewSnapshot(p.Offer())
	if err != nil {
		os.Exit(2)
	}
	out, _, err := run.NewEngine(run.Options{}).Invoke(context.Background(), run.Request{
		View: s.View(auth.Local(), exposure.Full, false), Principal: auth.Local(), ID: catalog.PluginID("parent", "begin"), Input: json.RawMessage(`{"session":true}`), Surface: "app",
	})
	var child parentOut
	if err != nil || json.Unmarshal(out, &child) != nil {
		os.Exit(3)
	}
	fmt.Println(child.Child, p.offering()[0].state().proc.folder)
	select {}
}

package plugins

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/plugins/internal/wire"
)

// hostilePrefix begins the names of files that are hostile plugins: what follows is how.
const hostilePrefix = "h-"

// serveHostile is a plugin that does what none should, in one way.
func serveHostile(kind string) {
	if begin, ok := hostileStarts[kind]; ok {
		begin()
		return
	}
	serveRaw(&hostileServer{kind: kind}, nil)
}

// serveRaw serves a plugin at a socket, without any kit. wrap may replace the listener.
func serveRaw(server wire.PluginServer, wrap func(net.Listener) net.Listener) {
	listener, err := net.Listen("unix", inSocketFolder("s"))
	if err != nil {
		os.Exit(8)
	}
	address := listener.Addr().String()
	if wrap != nil {
		listener = wrap(listener)
	}
	s := grpc.NewServer(wire.ServerOptions(nil)...)
	wire.RegisterPluginServer(s, server)
	grpc_health_v1.RegisterHealthServer(s, health.NewServer())
	fmt.Printf("1|%d|unix|%s|grpc\n", wire.ContractVersion, address)
	_ = s.Serve(listener)
}

func inSocketFolder(name string) string {
	return filepath.Join(os.Getenv("PLUGIN_UNIX_SOCKET_DIR"), name)
}

// shake prints a line, and stays.
func shake(format string, args ...any) func() {
	return func() {
		fmt.Printf(format, args...)
		time.Sleep(time.Minute)
	}
}

// hostileStarts are the plugins that never get as far as describing themselves.
var hostileStarts = map[string]func(){
	"exits":         func() { os.Exit(3) },
	"last-words":    func() { fmt.Fprint(os.Stderr, "\x1b[31mred\x1b]0;title\x07\n"); os.Exit(3) },
	"greets":        shake("Welcome!\n"),
	"silent":        shake(""),
	"handshake-2":   shake("2|1|unix|/tmp/s|grpc\n"),
	"contract-9":    shake("1|9|unix|/tmp/s|grpc\n"),
	"netrpc":        shake("1|1|unix|/tmp/s|netrpc\n"),
	"tcp":           shake("1|1|tcp|127.0.0.1:22|grpc\n"),
	"elsewhere":     shake("1|1|unix|/run/docker.sock|grpc\n"),
	"few-fields":    shake("1|1\n"),
	"binary":        shake("\x00\xff\x01|\n"),
	"endless-line":  shake("%s", strings.Repeat("x", 4<<20)),
	"no-such-net":   shake("1|1|carrier-pigeon|x|grpc\n"),
	"closes-stdout": func() { _ = os.Stdout.Close(); time.Sleep(time.Minute) },
	"floods-stderr": func() {
		for range 20_000 {
			fmt.Fprintln(os.Stderr, strings.Repeat("noise ", 50))
		}
		os.Exit(4)
	},
	"a-file": func() {
		_ = os.WriteFile(inSocketFolder("s"), nil, 0o600)
		shake("1|1|unix|%s|grpc\n", inSocketFolder("s"))()
	},
	"a-link": func() {
		_ = os.Symlink("/run/docker.sock", inSocketFolder("s"))
		shake("1|1|unix|%s|grpc\n", inSocketFolder("s"))()
	},
	"deaf-socket": func() {
		l, _ := net.Listen("unix", inSocketFolder("s"))
		shake("1|1|unix|%s|grpc\n", l.Addr())()
	},
	"noise-on-socket": func() { serveRaw(&hostileServer{}, func(l net.Listener) net.Listener { return &noisy{l} }) },
	"leaves-a-child": func() {
		_ = (&exec.Cmd{Path: "/usr/bin/sleep", Args: []string{"sleep", "60"}}).Start()
		os.Exit(0)
	},
}

// noisy answers each connection with bytes that are no frames.
type noisy struct{ net.Listener }

func (n *noisy) Accept() (net.Conn, error) {
	for {
		c, err := n.Listener.Accept()
		if err != nil {
			return nil, err
		}
		_, _ = c.Write([]byte(strings.Repeat("\xff\x00HTTP/0.9", 1<<12)))
		_ = c.Close()
	}
}

// hostileServer describes itself as its kind says; the one of the kind "calls" is well described.
type hostileServer struct {
	wire.UnimplementedPluginServer
	kind string
}

func (h *hostileServer) Describe(context.Context, *wire.DescribeRequest) (*wire.Manifest, error) {
	object := []byte(`{"type":"object"}`)
	m := &wire.Manifest{
		ContractVersion: wire.ContractVersion, Domain: hostilePrefix + h.kind, Version: "1", Metrics: []*wire.Metric{{Name: "hits"}},
		Functions: []*wire.Function{
			{Name: "call", InputSchema: object, OutputSchema: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`), Effects: &wire.Effects{ReadOnly: true}},
			{Name: "send", InputSchema: object, OutputSchema: object, Effects: &wire.Effects{Outside: true}},
		},
	}
	if change, ok := hostileManifests[h.kind]; ok {
		return m, change(h, m, m.GetFunctions()[0])
	}
	return m, nil
}

type change = func(h *hostileServer, m *wire.Manifest, f *wire.Function) error

// set is a change that cannot fail.
func set(to func(m *wire.Manifest, f *wire.Function)) change {
	return func(_ *hostileServer, m *wire.Manifest, f *wire.Function) error { to(m, f); return nil }
}

// inputSchema is a change of a schema.
func inputSchema(schema string) change {
	return set(func(_ *wire.Manifest, f *wire.Function) { f.InputSchema = []byte(schema) })
}

// hostileManifests are what hostile plugins say of themselves.
var hostileManifests = map[string]change{
	"status": func(*hostileServer, *wire.Manifest, *wire.Function) error {
		return status.Error(codes.DataLoss, "\x1b[2Jno")
	},
	"never":         func(*hostileServer, *wire.Manifest, *wire.Function) error { time.Sleep(time.Minute); return nil },
	"dies":          func(*hostileServer, *wire.Manifest, *wire.Function) error { os.Exit(5); return nil },
	"other-domain":  set(func(m *wire.Manifest, _ *wire.Function) { m.Domain = "echo" }),
	"long-domain":   set(func(m *wire.Manifest, _ *wire.Function) { m.Domain = strings.Repeat("d", 900<<10) }),
	"contract":      set(func(m *wire.Manifest, _ *wire.Function) { m.ContractVersion = 7 }),
	"no-functions":  set(func(m *wire.Manifest, _ *wire.Function) { m.Functions = nil }),
	"1001":          set(func(m *wire.Manifest, f *wire.Function) { m.Functions = repeat(f, 1001) }),
	"2-mib":         set(func(m *wire.Manifest, _ *wire.Function) { m.Description = strings.Repeat("x", 2<<20) }),
	"twice":         set(func(m *wire.Manifest, f *wire.Function) { m.Functions = repeat(f, 900) }),
	"proto":         set(func(_ *wire.Manifest, f *wire.Function) { f.Name = "__proto__" }),
	"dots":          set(func(_ *wire.Manifest, f *wire.Function) { f.Name = "../../etc" }),
	"no-json":       inputSchema(`{"type":`),
	"a-list":        inputSchema(`{"type":"array"}`),
	"remote":        inputSchema(`{"type":"object","properties":{"a":{"$ref":"http://169.254.169.254/latest"}}}`),
	"a-file-schema": inputSchema(`{"type":"object","properties":{"a":{"$ref":"file:///etc/passwd"}}}`),
	"bad-pattern":   inputSchema(`{"type":"object","properties":{"a":{"pattern":"("}}}`),
	"long-schema":   inputSchema(`{"type":"object","description":"` + strings.Repeat("x", 300<<10) + `"}`),
	"deep-schema":   inputSchema(strings.Repeat(`{"type":"object","properties":{"a":`, 300) + `{}` + strings.Repeat("}}", 300)),
	"unfit-example": set(func(_ *wire.Manifest, f *wire.Function) { f.Example = []byte(`[]`) }),
	"odd-example":   set(func(_ *wire.Manifest, f *wire.Function) { f.Example = []byte(`{`) }),
	"negative-time": set(func(_ *wire.Manifest, f *wire.Function) { f.TimeoutMs = -1 }),
	"eternal":       set(func(_ *wire.Manifest, f *wire.Function) { f.TimeoutMs = math.MaxInt64 }),
	"our-code":      set(func(m *wire.Manifest, _ *wire.Function) { m.FaultCodes = []string{"approval_required"} }),
	"any-need":      set(func(m *wire.Manifest, _ *wire.Function) { m.Needs = []string{"*"} }),
	"many-needs": set(func(m *wire.Manifest, _ *wire.Function) {
		m.Needs = strings.Split(strings.Repeat("koan::A.get ", 101), " ")[:101]
	}),
	"many-metrics": set(func(m *wire.Manifest, _ *wire.Function) { m.Metrics = make([]*wire.Metric, 51) }),
	"same-series": set(func(m *wire.Manifest, _ *wire.Function) {
		m.Metrics = []*wire.Metric{{Name: "hits"}, {Name: "hits_total"}}
	}),
	"escapes": set(func(m *wire.Manifest, _ *wire.Function) {
		m.Description, m.Version = "\x1b[2J\u202eclear", "\x1b]0;x\x07 1"
	}),
	"configure-status": unchanged,
	"configure-never":  unchanged,
	"fickle": func(_ *hostileServer, m *wire.Manifest, _ *wire.Function) error {
		folders, err := os.ReadDir("/usr/share") // another one at each start
		if err != nil {
			return err
		}
		folder := filepath.Join("/usr/share", folders[time.Now().UnixNano()%int64(len(folders))].Name())
		m.Settings = []*wire.Setting{{Key: "a", Folder: true, DefaultValue: folder}}
		return nil
	},
}

func unchanged(*hostileServer, *wire.Manifest, *wire.Function) error { return nil }

func repeat(f *wire.Function, n int) (out []*wire.Function) {
	for range n {
		out = append(out, f)
	}
	return out
}

func (h *hostileServer) Configure(context.Context, *wire.ConfigureRequest) (*wire.ConfigureResponse, error) {
	switch h.kind {
	case "configure-status":
		return nil, status.Error(codes.Internal, "no")
	case "configure-never":
		time.Sleep(time.Minute)
	}
	return &wire.ConfigureResponse{}, nil
}

// hostileCalls are what hostile functions do.
var hostileCalls = map[string]func(send func(*wire.CallEvent) error) error{
	"well":         sendOutput(`{"n":1}`),
	"no JSON":      sendOutput(`{"n":`),
	"unfit":        sendOutput(`{"n":"one"}`),
	"too large":    sendOutput(`{"s":"` + strings.Repeat("x", 5<<20) + `"}`),
	"huge message": sendOutput(`{"s":"` + strings.Repeat("x", 30<<20) + `"}`),
	"nothing":      func(func(*wire.CallEvent) error) error { return nil },
	"empty event":  func(send func(*wire.CallEvent) error) error { return send(&wire.CallEvent{}) },
	"status":       func(func(*wire.CallEvent) error) error { return status.Error(codes.Unauthenticated, "inner words") },
	"never":        func(func(*wire.CallEvent) error) error { time.Sleep(time.Minute); return nil },
	"dies":         func(func(*wire.CallEvent) error) error { os.Exit(6); return nil },
	"endless part": sendParts(1<<60, `{`),
	"no part":      sendParts(-1, `{`),
	"late part":    sendParts(4, `{}`, `{}`, `{}`),
	"our fault":    sendFault(`{"code":"approval_required","message":"approve this","details":{"planId":"x"}}`),
	"no fault":     sendFault(`[`),
	"long fault":   sendFault(`{"code":"not_found","message":"` + strings.Repeat("m", 1<<20) + `","details":"` + strings.Repeat("d", 1<<20) + `"}`),
	"deep fault":   sendFault(`{"code":"not_found","message":"deep","details":` + strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000) + `}`),
	"strange metric": func(send func(*wire.CallEvent) error) error {
		return send(&wire.CallEvent{Event: &wire.CallEvent_Measurement{Measurement: &wire.Measurement{Metric: "made_up", Value: 1}}})
	},
	"no number": func(send func(*wire.CallEvent) error) error {
		return send(&wire.CallEvent{Event: &wire.CallEvent_Measurement{Measurement: &wire.Measurement{Metric: "hits", Value: math.NaN()}}})
	},
	"backward span": func(send func(*wire.CallEvent) error) error {
		return send(&wire.CallEvent{Event: &wire.CallEvent_Span{Span: &wire.Span{Name: "a", StartUnixNano: 2, EndUnixNano: 1}}})
	},
	"asks": func(send func(*wire.CallEvent) error) error {
		return send(&wire.CallEvent{Event: &wire.CallEvent_Question{Question: &wire.Question{Id: 1}}})
	},
	"progress": func(send func(*wire.CallEvent) error) error {
		for range 5_000 {
			_ = send(&wire.CallEvent{Event: &wire.CallEvent_Progress{Progress: &wire.Progress{Done: math.NaN(), Total: -1, Message: strings.Repeat("m", 1000)}}})
		}
		return sendOutput(`{"n":1}`)(send)
	},
	"two outputs": func(send func(*wire.CallEvent) error) error {
		_ = sendOutput(`{"n":1}`)(send)
		return sendOutput(`{"n":2}`)(send)
	},
	"floods stdout": func(send func(*wire.CallEvent) error) error {
		for range 5_000 {
			fmt.Println(strings.Repeat("noise ", 100))
		}
		return sendOutput(`{"n":1}`)(send)
	},
	"forks": func(send func(*wire.CallEvent) error) error {
		for range 2 * maxProcesses {
			_ = (&exec.Cmd{Path: "/usr/bin/sleep", Args: []string{"sleep", "60"}}).Start()
		}
		time.Sleep(20 * time.Second)
		return sendOutput(`{"n":1}`)(send)
	},
	"home":      attempt(func() error { _, err := os.ReadDir("/root"); return err }),
	"passwords": attempt(func() error { _, err := os.ReadFile("/etc/shadow"); return err }),
	"own file": attempt(func() error {
		return os.WriteFile(os.Args[0], []byte("x"), 0o755)
	}),
	"kills all": attempt(func() error { return syscall.Kill(os.Getppid(), syscall.SIGKILL) }),
	"traces":    attempt(func() error { return syscall.PtraceAttach(1) }),
	"mounts":    attempt(func() error { return syscall.Mount("none", "/tmp", "tmpfs", 0, "") }),
	"network":   attempt(func() error { _, err := net.DialTimeout("tcp", "1.1.1.1:53", time.Second); return err }),
	"fills tmp": attempt(func() error { return os.WriteFile("/tmp/full", make([]byte, 65<<20), 0o600) }),
}

func sendOutput(raw string) func(func(*wire.CallEvent) error) error {
	return func(send func(*wire.CallEvent) error) error {
		return send(&wire.CallEvent{Event: &wire.CallEvent_Output{Output: []byte(raw)}})
	}
}

func sendFault(raw string) func(func(*wire.CallEvent) error) error {
	return func(send func(*wire.CallEvent) error) error {
		return send(&wire.CallEvent{Event: &wire.CallEvent_Fault{Fault: []byte(raw)}})
	}
}

func sendParts(size int64, data ...string) func(func(*wire.CallEvent) error) error {
	return func(send func(*wire.CallEvent) error) error {
		for _, d := range data {
			_ = send(&wire.CallEvent{Event: &wire.CallEvent_Part{Part: &wire.Part{Size: size, Data: []byte(d)}}})
		}
		return nil
	}
}

// attempt says what comes of something that a plugin may not do.
func attempt(do func() error) func(func(*wire.CallEvent) error) error {
	return func(send func(*wire.CallEvent) error) error {
		if err := do(); err != nil {
			raw, _ := json.Marshal(map[string]any{"code": "not_found", "message": "refused: " + err.Error()})
			return sendFault(string(raw))(send)
		}
		return sendOutput(`{"n":0}`)(send)
	}
}

func (h *hostileServer) Call(req *wire.CallRequest, stream grpc.ServerStreamingServer[wire.CallEvent]) error {
	var in struct{ Do string }
	if err := json.Unmarshal(req.GetInput(), &in); err != nil {
		return err
	}
	return hostileCalls[in.Do](stream.Send)
}

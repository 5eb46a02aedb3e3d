package kit

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	goplugin "github.com/hashicorp/go-plugin"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/plugins/internal/wire"
	"github.com/koan-go/koan/plugins/kit/internal/serving"
)

// Serve serves the plugin until the app stops it or ends. It is the last statement of
// main. It panics if the plugin is invalid, with a list of all mistakes. Standard output
// belongs to the protocol until Serve has begun; later output goes to the app's log.
func Serve(p Plugin) {
	if err := p.check(); err != nil {
		panic(err)
	}
	log := logger(os.Stderr)
	slog.SetDefault(log)
	go leaveWithParent(os.Getppid())
	goplugin.Serve(&goplugin.ServeConfig{
		HandshakeConfig:  wire.Handshake,
		VersionedPlugins: wire.Plugins(newServer(p, log)),
		GRPCServer: func(o []grpc.ServerOption) *grpc.Server {
			return grpc.NewServer(wire.ServerOptions(o)...)
		},
		Logger: hclog.New(&hclog.LoggerOptions{Output: os.Stderr, Level: hclog.Warn, JSONFormat: true}),
	})
}

// logger writes lines that the host's end of go-plugin reads back with their
// levels and values. It keeps the process's own standard error, which Serve
// replaces.
func logger(w io.Writer) *slog.Logger {
	rename := map[string]string{slog.TimeKey: "@timestamp", slog.LevelKey: "@level", slog.MessageKey: "@message"}
	return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{
		Level: slog.LevelDebug,
		ReplaceAttr: func(groups []string, a slog.Attr) slog.Attr {
			if to, ok := rename[a.Key]; ok && len(groups) == 0 {
				a.Key = to
				switch to {
				case "@level":
					a.Value = slog.StringValue(strings.ToLower(a.Value.String()))
				case "@timestamp":
					a.Value = slog.StringValue(a.Value.Time().Format(hclog.TimeFormat))
				}
			}
			return a
		},
	}))
}

// leaveWithParent ends the process when the app has died without stopping it. On Linux the
// kernel does that (the host asks for a signal); elsewhere it watches for a change of the
// parent.
func leaveWithParent(parent int) {
	for range time.Tick(time.Second) {
		if os.Getppid() != parent {
			os.Exit(0)
		}
	}
}

// server is the plugin's side of the wire contract.
type server struct {
	wire.UnimplementedPluginServer
	plugin    Plugin
	functions map[string]Function
	log       *slog.Logger
	stateDir  atomic.Value // string, as Configure says, before any call
}

var _ wire.PluginServer = (*server)(nil)

func init() {
	serving.New = func(plugin any, log *slog.Logger) (wire.PluginServer, error) {
		p := plugin.(Plugin)
		return newServer(p, log), p.check()
	}
}

func newServer(p Plugin, log *slog.Logger) *server {
	s := &server{plugin: p, functions: map[string]Function{}, log: log}
	for _, f := range p.Functions {
		s.functions[f.name] = f
	}
	return s
}

// Describe returns the manifest.
func (s *server) Describe(context.Context, *wire.DescribeRequest) (*wire.Manifest, error) {
	return s.plugin.manifest(), nil
}

func (p Plugin) manifest() *wire.Manifest {
	m := &wire.Manifest{
		ContractVersion: wire.ContractVersion, Domain: p.Domain, Version: p.Version, Description: p.Description, FaultCodes: p.FaultCodes,
		Needs: p.Needs, Converses: true, KeepsState: p.State, Metrics: p.metricsOnWire(),
	}
	for _, k := range p.Settings {
		m.Settings = append(m.Settings, &wire.Setting{Key: k.Key, DefaultValue: k.Default, Help: k.Help, Secret: k.Secret, Folder: k.Folder})
	}
	for _, f := range p.Functions {
		m.Functions = append(m.Functions, &wire.Function{
			Name: f.name, Title: f.title, Summary: f.summary, InputSchema: f.input, OutputSchema: f.output,
			Effects: &wire.Effects{
				ReadOnly: f.effects.ReadOnly, Destructive: f.effects.Destructive,
				Idempotent: f.effects.Idempotent, Outside: f.effects.Outside,
			},
			Example: f.example, TimeoutMs: f.timeout.Milliseconds(), Scopes: f.scopes,
		})
	}
	return m
}

// Configure passes the settings to the author's Configure.
func (s *server) Configure(ctx context.Context, req *wire.ConfigureRequest) (*wire.ConfigureResponse, error) {
	s.stateDir.Store(req.GetStateDir())
	if s.plugin.Configure == nil {
		return &wire.ConfigureResponse{}, nil
	}
	settings := req.GetSettings()
	if settings == nil {
		settings = map[string]string{}
	}
	err := s.recoverPanic("configure", s.log, func() error { return s.plugin.Configure(ctx, settings) })
	if err == nil {
		return &wire.ConfigureResponse{}, nil
	}
	f := fault.From(err)
	if f.Code == fault.Internal && f.Unwrap() != nil {
		f = fault.New(fault.InvalidPayload, f.Unwrap().Error()) // the words are for the person who wrote the configuration
	}
	raw, merr := json.Marshal(f)
	return &wire.ConfigureResponse{Fault: raw}, merr
}

// Call makes one call, in which the app answers no questions.
func (s *server) Call(req *wire.CallRequest, stream grpc.ServerStreamingServer[wire.CallEvent]) error {
	return s.serve(stream, req, nil)
}

// Converse makes one call, in which the app answers questions.
func (s *server) Converse(stream grpc.BidiStreamingServer[wire.HostMessage, wire.CallEvent]) error {
	first, err := stream.Recv()
	if err != nil {
		return err
	}
	if first.GetCall() == nil {
		return status.Error(codes.InvalidArgument, "the first message is not a call")
	}
	return s.serve(stream, first.GetCall(), stream.Recv)
}

// events is where a call's events go.
type events interface {
	Context() context.Context
	Send(*wire.CallEvent) error
}

// serve makes one call. answers reads what the app answers to the function's questions; it is nil if that is
// nothing.
func (s *server) serve(stream events, req *wire.CallRequest, answers func() (*wire.HostMessage, error)) error {
	log := s.log.With("function", req.GetFunction(), "call", req.GetCallId())
	// A stream takes one sender at a time, and progress may come from anywhere.
	var sending sync.Mutex
	ended := false
	send := func(e *wire.CallEvent, last bool) error {
		sending.Lock()
		defer sending.Unlock()
		if ended {
			return nil
		}
		ended = last
		return stream.Send(e)
	}
	stateDir, _ := s.stateDir.Load().(string)
	call := Call{
		ID: req.GetCallId(), Key: req.GetKey(), Set: req.GetSet(), Trace: req.GetTrace(), DryRun: req.GetDryRun(), Local: req.GetLocal(), Log: log, stateDir: stateDir,
		Caller: Caller{Subject: req.GetSubject(), Scopes: req.GetScopes(), Sets: req.GetSets()},
		progress: func(p *wire.Progress) {
			_ = send(&wire.CallEvent{Event: &wire.CallEvent_Progress{Progress: p}}, false)
		},
	}
	call.observe = s.plugin.observe(req, func(e *wire.CallEvent) { _ = send(e, false) })
	if answers != nil {
		call.host = newQuestions(stream.Context(), func(q *wire.Question) error {
			return send(&wire.CallEvent{Event: &wire.CallEvent_Question{Question: q}}, false)
		})
		go call.host.deliver(answers)
	}
	out, err := s.invoke(stream.Context(), call, req)
	return s.conclude(stream.Context(), log, req.GetParts(), out, err, send)
}

// conclude sends what a call has ended in, a long output in parts.
func (s *server) conclude(ctx context.Context, log *slog.Logger, parts bool, out json.RawMessage, err error, send func(e *wire.CallEvent, last bool) error) error {
	if err == nil {
		for size := int64(len(out)); parts && len(out) > wire.PartBytes; out = out[wire.PartBytes:] {
			part := &wire.Part{Size: size, Data: out[:wire.PartBytes]}
			if err := send(&wire.CallEvent{Event: &wire.CallEvent_Part{Part: part}}, false); err != nil {
				return err
			}
		}
		return send(&wire.CallEvent{Event: &wire.CallEvent_Output{Output: out}}, true)
	}
	if ended := ctx.Err(); ended != nil {
		return status.FromContextError(ended).Err() // nobody listens any more
	}
	var own *Fault
	if errors.As(err, &own) {
		err = own.onWire(s.plugin.FaultCodes)
	}
	f := fault.From(err)
	if f.Code == fault.Internal || !errors.As(err, new(*fault.Fault)) { // the caller does not see its text
		log.Error("the function failed", "error", err.Error(), "cause", fmt.Sprint(f.Unwrap()))
	}
	raw, err := json.Marshal(f)
	if err != nil {
		log.Error("the fault cannot be sent", "error", err.Error())
		raw, _ = json.Marshal(fault.New(fault.Internal, ""))
	}
	return send(&wire.CallEvent{Event: &wire.CallEvent_Fault{Fault: raw}}, true)
}

func (s *server) invoke(ctx context.Context, call Call, req *wire.CallRequest) (out json.RawMessage, err error) {
	f, ok := s.functions[req.GetFunction()]
	if !ok {
		return nil, fault.Newf(fault.ToolNotFound, "the plugin %s has no function %q", s.plugin.Domain, req.GetFunction())
	}
	err = s.recoverPanic(f.name, call.Log, func() error {
		out, err = f.invoke(ctx, call, req.GetInput())
		return err
	})
	if err != nil {
		return nil, err
	}
	if most := max(int(req.GetMaxOutputBytes()), wire.MaxCallBytes); len(out) > most {
		return nil, fault.Newf(fault.CallTooLarge, "%s.%s returned %d bytes; %d are allowed", s.plugin.Domain, f.name, len(out), most).
			WithDetails(map[string]any{"limit": most, "received": len(out)})
	}
	return out, nil
}

// recoverPanic turns a panic of the author's code into the fault internal; the process
// keeps running.
func (s *server) recoverPanic(what string, log *slog.Logger, fn func() error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			log.Error("panic", "in", what, "panic", fmt.Sprint(p), "stack", string(debug.Stack()))
			err = fault.Newf(fault.Internal, "the plugin panicked in %s", what)
		}
	}()
	return fn()
}

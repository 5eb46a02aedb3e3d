// Package kittest calls the functions of a plugin in the test's own process, as an app would: through their
// schemas, with settings, files, and functions that stand for the app's operations.
//
//	host := kittest.New(t, plugin(), kittest.Options{Settings: map[string]string{"greeting": "Hi"}})
//	out, err := kittest.Call[greetOut](host, "greet", greetIn{Name: "Ada"})
//
// It starts no process and opens no connection, so that a test in a bubble of testing/synctest has a clock of its
// own. Package koantest has the app that runs a built plugin.
//
// What belongs here: an app as a function sees it. Not here: anything that a plugin needs to run.
package kittest

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
	"github.com/koan-go/koan/plugins/internal/memory"
	"github.com/koan-go/koan/plugins/internal/operator"
	"github.com/koan-go/koan/plugins/internal/wire"
	"github.com/koan-go/koan/plugins/kit"
	"github.com/koan-go/koan/plugins/kit/internal/serving"
)

// Operation stands for an operation of the app that a function invokes. What it returns becomes JSON; its error
// reaches the function as a fault.
type Operation = func(ctx context.Context, input json.RawMessage) (any, error)

// Options say what the app is like. The zero value is an app without settings, operations and files, on which the
// local operator calls.
type Options struct {
	// Settings are what is configured; other settings of the plugin have their defaults.
	Settings map[string]string
	// Operations are what the operator grants, by id. One that is not in Plugin.Needs is refused nevertheless.
	Operations map[string]Operation
	// Caller is who calls; the zero value is the person at the app's machine.
	Caller kit.Caller
	// Set is the default set of the run, "" is "default".
	Set string
	// DryRun says that the runs will be rolled back.
	DryRun bool
	// Log gets what the plugin logs; nil is the test's log.
	Log slog.Handler
}

// Progress is one report of how far a call is.
type Progress struct {
	Done, Total float64 // a Total of 0 is unknown
	Message     string
	Partial     json.RawMessage // of the result, nil for none
}

// Measurement is a value of a metric of the plugin.
type Measurement struct {
	Metric string
	Value  float64
}

// Span is a part of a call that the plugin has timed.
type Span struct {
	Name       string
	Start, End time.Time
	Failed     bool
}

// Host is an app with one plugin.
type Host struct {
	tb       testing.TB
	server   wire.PluginServer
	manifest *wire.Manifest
	options  Options
	answers  memory.Host

	mu       sync.Mutex
	calls    int
	progress []Progress
	measured []Measurement
	spans    []Span
}

// New makes an app with a plugin, and configures it. It fails the test where the plugin is invalid, or rejects its
// settings; Configure says why.
func New(tb testing.TB, p kit.Plugin, o Options) *Host {
	tb.Helper()
	h, err := start(tb, p, o)
	if err != nil {
		tb.Fatalf("kittest: %v", err)
	}
	return h
}

// Configure returns the fault with which a plugin rejects settings, nil where it takes them.
func Configure(tb testing.TB, p kit.Plugin, settings map[string]string) error {
	tb.Helper()
	_, err := start(tb, p, Options{Settings: settings})
	return err
}

func start(tb testing.TB, p kit.Plugin, o Options) (*Host, error) {
	tb.Helper()
	if o.Log == nil {
		o.Log = slog.NewTextHandler(testLog{tb}, nil)
	}
	if o.Set == "" {
		o.Set = "default"
	}
	server, err := serving.New(p, slog.New(o.Log))
	if err != nil {
		return nil, err
	}
	h := &Host{tb: tb, server: server, options: o, answers: memory.Host{Operations: map[string]memory.Operation{}}}
	if h.manifest, err = server.Describe(tb.Context(), &wire.DescribeRequest{App: "kittest"}); err != nil {
		return nil, err
	}
	for id, operation := range o.Operations {
		if slices.ContainsFunc(h.manifest.GetNeeds(), func(need string) bool { return operator.Match(need, id) }) {
			h.answers.Operations[id] = operation
		}
	}
	return h, h.configure()
}

// configure hands the plugin its settings.
func (h *Host) configure() error {
	settings := map[string]string{}
	for _, s := range h.manifest.GetSettings() {
		settings[s.GetKey()] = s.GetDefaultValue()
	}
	for key, value := range h.options.Settings {
		if _, declared := settings[key]; !declared {
			return fault.Newf(fault.InvalidPayload, "the plugin has no setting %q", key)
		}
		settings[key] = value
	}
	req := &wire.ConfigureRequest{Settings: settings}
	if h.manifest.GetKeepsState() {
		req.StateDir = h.tb.TempDir()
	}
	answer, err := h.server.Configure(h.tb.Context(), req)
	if err != nil {
		return err
	}
	if raw := answer.GetFault(); len(raw) > 0 {
		return h.decode(raw)
	}
	return nil
}

// decode returns the fault that a plugin has sent: a *kit.Fault for a code of its own, else a *fault.Fault.
func (h *Host) decode(raw []byte) error {
	var own kit.Fault
	if err := json.Unmarshal(raw, &own); err == nil && slices.Contains(h.manifest.GetFaultCodes(), own.Code) {
		return &own
	}
	f, err := fault.Decode(raw)
	if err != nil {
		return err
	}
	return f
}

// AddFile keeps a file of the caller's, and returns its id, which an input names as {"$file": id}. Without mediaType
// the content tells it.
func (h *Host) AddFile(name, mediaType string, data []byte) string {
	return h.answers.AddFile(name, mediaType, data)
}

// File returns the content of a file that the plugin has created, by its id. It fails the test where there is none.
func (h *Host) File(id string) []byte {
	h.tb.Helper()
	f, ok := h.answers.File(id)
	if !ok {
		h.tb.Fatalf("kittest: there is no file %q", id)
	}
	return f.Data
}

// Progress returns what calls have reported until now.
func (h *Host) Progress() []Progress {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]Progress(nil), h.progress...)
}

// Measured returns what calls have measured until now.
func (h *Host) Measured() []Measurement {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.measured)
}

// Spans returns the spans that have ended until now.
func (h *Host) Spans() []Span {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.spans)
}

// observed keeps a measurement or a span.
func (h *Host) observed(e *wire.CallEvent) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if m := e.GetMeasurement(); m != nil {
		h.measured = append(h.measured, Measurement{m.GetMetric(), m.GetValue()})
	}
	if s := e.GetSpan(); s != nil {
		h.spans = append(h.spans, Span{s.GetName(), time.Unix(0, s.GetStartUnixNano()), time.Unix(0, s.GetEndUnixNano()), s.GetFailed()})
	}
}

// Call calls a function with an input that becomes JSON, and decodes its output. Both have to fit the function's
// schemas. The error is the function's fault: a *kit.Fault with a code of the plugin's own, else a *fault.Fault, where
// invalid_payload and execution_error may be the schemas'. An error that is no fault is in the log, as in an app.
func Call[Out any](h *Host, function string, input any) (out Out, err error) {
	h.tb.Helper()
	raw, err := h.Call(h.tb.Context(), function, input)
	if err == nil {
		err = json.Unmarshal(raw, &out)
	}
	return out, err
}

// Call calls a function, and returns its output as JSON. The function's context ends with ctx.
func (h *Host) Call(ctx context.Context, function string, input any) (json.RawMessage, error) {
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	if input == nil {
		raw = json.RawMessage("{}")
	}
	declared := h.function(function)
	if declared == nil {
		return nil, fault.Newf(fault.ToolNotFound, "the plugin has no function %q", function)
	}
	if err := schema.Check(declared.GetInputSchema(), raw); err != nil {
		return nil, err
	}
	out, err := h.converse(ctx, h.request(function, raw))
	if err != nil {
		return nil, err
	}
	if err := schema.Check(declared.GetOutputSchema(), out); err != nil {
		return nil, fault.Newf(fault.ExecutionError, "the output of %s does not fit its schema: %s", function, fault.From(err).Message)
	}
	return out, nil
}

func (h *Host) function(name string) *wire.Function {
	for _, f := range h.manifest.GetFunctions() {
		if f.GetName() == name {
			return f
		}
	}
	return nil
}

func (h *Host) request(function string, input []byte) *wire.CallRequest {
	h.mu.Lock()
	h.calls++
	n := strconv.Itoa(h.calls)
	h.mu.Unlock()
	who := h.options.Caller
	req := &wire.CallRequest{
		Function: function, Input: input, CallId: "call-" + n, Key: "key-" + n, Set: h.options.Set, DryRun: h.options.DryRun, Observed: true,
		Subject: who.Subject, Scopes: who.Scopes, Sets: who.Sets,
	}
	if who.Subject == "" {
		req.Subject, req.Scopes, req.Sets, req.Local = "local", []string{"*"}, []string{"*"}, true
	}
	return req
}

// converse makes a call, and answers what the function asks.
func (h *Host) converse(ctx context.Context, req *wire.CallRequest) (json.RawMessage, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	s := &stream{ctx: ctx, host: h, toPlugin: make(chan *wire.HostMessage, wire.MaxQuestions+1)}
	s.toPlugin <- &wire.HostMessage{Message: &wire.HostMessage_Call{Call: req}}
	if err := h.server.Converse(s); err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.output, s.failed
}

// stream is the conversation of one call. It has no connection, so that only a function of the plugin waits for
// anything.
type stream struct {
	grpc.ServerStream // nil: what it has the plugin's side does not call
	ctx               context.Context
	host              *Host
	toPlugin          chan *wire.HostMessage

	mu     sync.Mutex
	output json.RawMessage
	failed error
}

var _ grpc.BidiStreamingServer[wire.HostMessage, wire.CallEvent] = (*stream)(nil)

func (s *stream) Context() context.Context { return s.ctx }

func (s *stream) Recv() (*wire.HostMessage, error) {
	select {
	case m := <-s.toPlugin:
		return m, nil
	case <-s.ctx.Done():
		return nil, io.EOF
	}
}

func (s *stream) Send(e *wire.CallEvent) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.host.observed(e)
	switch e := e.GetEvent().(type) {
	case *wire.CallEvent_Progress:
		s.host.mu.Lock()
		s.host.progress = append(s.host.progress, Progress{e.Progress.GetDone(), e.Progress.GetTotal(), e.Progress.GetMessage(), e.Progress.GetPartial()})
		s.host.mu.Unlock()
	case *wire.CallEvent_Question:
		go func() { // it may take long, and invoke an operation of the test that waits
			_, a := s.host.answers.Answer(s.ctx, e.Question)
			select {
			case s.toPlugin <- &wire.HostMessage{Message: &wire.HostMessage_Answer{Answer: a}}:
			case <-s.ctx.Done():
			}
		}()
	case *wire.CallEvent_Output:
		s.output = bytes.Clone(e.Output)
	case *wire.CallEvent_Fault:
		s.failed = s.host.decode(e.Fault)
	}
	return nil
}

// testLog writes to the test's log.
type testLog struct{ tb testing.TB }

func (l testLog) Write(p []byte) (int, error) {
	l.tb.Log(string(bytes.TrimSpace(p)))
	return len(p), nil
}

package language_test

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync/atomic"

	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// lines is the smallest language that can do what a language has to. A script is a list of commands, one a line:
//
//	call NAME.METHOD {...}   call an operation of an entity; its output becomes the result
//	log TEXT                 write to the logs
//	fail TEXT                end with an error
//	spin, grow               use time, or memory, without end
type lines struct{ bindings wire.Bindings }

func (*lines) Names() []string                      { return []string{"lines"} }
func (l *lines) Bind(b wire.Bindings)               { l.bindings = b }
func (l *lines) Prepare() (language.Runtime, error) { return &linesRuntime{of: l}, nil }

// linesRuntime is what one script runs in.
type linesRuntime struct {
	of          *lines
	interrupted atomic.Pointer[fault.Fault]
	host        language.Host
	result      wire.Result
	kept        [][]byte
}

// Interrupt implements language.Runtime.
func (r *linesRuntime) Interrupt(f *fault.Fault) { r.interrupted.Store(f) }

// Check implements language.Runtime.
func (r *linesRuntime) Check(job *wire.Job, _ language.Host) *wire.Result {
	for i, line := range strings.Split(job.Code, "\n") {
		name, rest, _ := strings.Cut(line, " ")
		d := wire.Diagnostic{Severity: wire.SeverityError, Line: i + 1}
		switch name {
		case "call":
			if _, ok := r.operation(rest); ok {
				continue
			}
			d.Code, d.Message = wire.DiagnosticUnknownMethod, "there is no such method"
		case "log", "fail", "spin", "grow":
			continue
		default:
			d.Code, d.Message = wire.DiagnosticParse, "there is no command "+name
		}
		r.result.Diagnostics = append(r.result.Diagnostics, d)
	}
	return &r.result
}

// Declare implements language.Runtime.
func (r *linesRuntime) Declare(*wire.Job) *wire.Result {
	r.result.Fault = fault.New(fault.CapabilityUnsupported, "there are no actions in lines")
	return &r.result
}

// Run implements language.Runtime.
func (r *linesRuntime) Run(job *wire.Job, host language.Host) *wire.Result {
	r.host = host
	for i, line := range strings.Split(job.Code, "\n") {
		if f := r.execute(line); f != nil {
			f.Line, f.Source = i+1, line
			r.result.Fault = f
			break
		}
	}
	return &r.result
}

// execute executes a line until it ends or the script is interrupted.
func (r *linesRuntime) execute(line string) *fault.Fault {
	command, rest, _ := strings.Cut(line, " ")
	for {
		if f := r.interrupted.Load(); f != nil {
			return f.WithPath("")
		}
		switch command {
		case "call":
			return r.call(rest)
		case "log":
			r.host.Log(wire.Log{Level: "info", Message: rest})
			return nil
		case "fail":
			return fault.New(fault.JavaScriptError, rest)
		case "spin":
		case "grow":
			r.kept = append(r.kept, bytes.Repeat([]byte{1}, 64<<10))
		default:
			return fault.New(fault.SyntaxError, "there is no command "+command)
		}
	}
}

func (r *linesRuntime) call(rest string) *fault.Fault {
	id, ok := r.operation(rest)
	if !ok {
		return fault.New(fault.JavaScriptError, "there is no such method")
	}
	_, input, _ := strings.Cut(rest, " ")
	reply := r.host.Call(id, []byte(input))
	if reply.Fault != nil {
		return reply.Fault.WithPath("")
	}
	r.result.Result = json.RawMessage(reply.Out)
	return nil
}

// operation returns the operation that a call names: "Todo.get-by-id".
func (r *linesRuntime) operation(rest string) (id string, ok bool) {
	called, _, _ := strings.Cut(rest, " ")
	for _, e := range r.of.bindings.Entities {
		for _, op := range e.Ops {
			if called == e.Name+"."+op {
				return "koan::" + called, true
			}
		}
	}
	return "", false
}

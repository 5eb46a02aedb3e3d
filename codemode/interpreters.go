package codemode

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/codemode/internal/language/cell"
	"github.com/koan-go/koan/codemode/internal/language/node"
	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// interpreter runs the scripts of one language in a program of the machine.
type interpreter struct {
	*sandbox.Sandbox
	language string
	program  fmt.Stringer
	limits   atomic.Pointer[limits] // of processes that are started from now on
}

// pythonGrace is how long Python may take to stop a script at its limit itself, since then the fault names the line: its
// timer and the kernel's account of its time are as coarse as the kernel's ticks.
const pythonGrace = 100 * time.Millisecond

// machineLanguages are those that a program of the machine runs, with what starts it: a process for each script, or one
// for each caller that forks.
var machineLanguages = map[string]func(x *interpreter, l limits) (sandbox.Options, error){
	languagePython: func(x *interpreter, l limits) (sandbox.Options, error) {
		found, err := python.Find(context.Background(), l.python, l.pythonModules)
		if err != nil {
			return sandbox.Options{}, err
		}
		x.program = found
		return sandbox.Options{PoolSize: 1, Fresh: l.fresh, KillGrace: pythonGrace, Interpreter: &sandbox.Interpreter{
			Args: func() []string { return found.Arguments(l.pythonModules) }, Forks: true,
		}}, nil
	},
	languageNode: func(x *interpreter, l limits) (sandbox.Options, error) {
		found, err := node.Find(context.Background(), l.node, l.nodeModules)
		if err != nil {
			return sandbox.Options{}, err
		}
		x.program = found
		return sandbox.Options{PoolSize: 2, Fresh: true, Interpreter: &sandbox.Interpreter{Args: func() []string {
			now := x.limits.Load()
			return found.Arguments(node.Limits{MemoryMb: int(now.MemoryBytes >> 20), CPUMs: now.CPUMs})
		}}}, nil
	},
}

// newInterpreter returns the executor of a language that a program of the machine runs. There is no fallback: where the
// program is missing or cannot be confined, the fault is capability_unsupported and says what is missing.
func newInterpreter(language string, l limits) (*interpreter, error) {
	x := &interpreter{language: language}
	x.limits.Store(&l)
	o, err := machineLanguages[language](x, l)
	if err != nil {
		return nil, err
	}
	o.MaxWorkers, o.QueueMax, o.OnDemand, o.Log = l.maxWorkers, l.queueMax, l.oneShot, l.log
	o.Layers, o.Interpreter.Layers, o.Interpreter.Attr = cell.Layers(), cell.Layers(), cell.Attributes()
	if x.Sandbox, err = sandbox.New(o); err != nil {
		if _, why, module := strings.Cut(err.Error(), keyPythonModules+": "); module {
			return nil, fault.New(fault.CapabilityUnsupported, strings.TrimSuffix(why, `"`)).
				WithHint("Scripts see the interpreter's libraries and the data of the modules in %s. If the module needs another one's data, name that one too, or take the module out.", keyPythonModules).Because(err)
		}
		return nil, fault.Newf(fault.CapabilityUnsupported, "%s cannot be confined on this machine: %s", x.program, fault.Clip(err.Error(), 500)).
			WithHint("Scripts in %s need Linux with namespaces and seccomp, which containers may forbid. Allow them, or take %s out of %s.", primerOf(language).Title, language, keyLanguages).Because(err)
	}
	return x, nil
}

// byLanguage is the executor where interpreters of the machine run languages beside those of this build.
type byLanguage struct {
	wire.Executor // of all other languages
	interpreters  []*interpreter
}

// newByLanguage returns the executor of an app's languages. own is that of those which this build runs itself; it is
// closed where another language cannot be run.
func newByLanguage(own wire.Executor, l limits) (wire.Executor, error) {
	x := &byLanguage{Executor: own}
	for _, language := range l.languages {
		if machineLanguages[language] == nil {
			continue
		}
		one, err := newInterpreter(language, l)
		if err != nil {
			return nil, errors.Join(err, x.Close())
		}
		x.interpreters = append(x.interpreters, one)
	}
	if len(x.interpreters) == 0 {
		return own, nil
	}
	return x, nil
}

// Execute implements wire.Executor.
func (x *byLanguage) Execute(ctx context.Context, job *wire.Job, host wire.Host) (*wire.Result, error) {
	if i := slices.IndexFunc(x.interpreters, func(i *interpreter) bool { return i.language == job.Language }); i >= 0 {
		return x.interpreters[i].Execute(ctx, job, host)
	}
	return x.Executor.Execute(ctx, job, host)
}

// Close implements wire.Executor.
func (x *byLanguage) Close() error {
	err := x.Executor.Close()
	for _, i := range x.interpreters {
		err = errors.Join(err, i.Close())
	}
	return err
}

// Warm implements warmed.
func (x *byLanguage) Warm(ctx context.Context) error {
	var err error
	if w, ok := x.Executor.(warmed); ok {
		err = w.Warm(ctx)
	}
	for _, i := range x.interpreters {
		err = errors.Join(err, i.Warm(ctx))
	}
	return err
}

// Load implements counted.
func (x *byLanguage) Load() sandbox.Load {
	var sum sandbox.Load
	add := func(c counted) {
		l := c.Load()
		sum = sandbox.Load{Running: sum.Running + l.Running, Waiting: sum.Waiting + l.Waiting, Idle: sum.Idle + l.Idle, Workers: sum.Workers + l.Workers}
	}
	if c, ok := x.Executor.(counted); ok {
		add(c)
	}
	for _, i := range x.interpreters {
		add(i)
	}
	return sum
}

// reload has processes that are started from now on have new limits, and replaces those that wait for a script.
func (x *byLanguage) reload(l limits) {
	for _, i := range x.interpreters {
		i.limits.Store(&l)
		i.Renew()
	}
}

// ownExecutor returns the executor of the languages that this build runs itself.
func ownExecutor(x wire.Executor) wire.Executor {
	if b, ok := x.(*byLanguage); ok {
		return b.Executor
	}
	return x
}

// checkInterpreters reports on the machine's interpreters that run scripts.
func checkInterpreters(ctx context.Context, x wire.Executor) []catalog.Check {
	b, ok := x.(*byLanguage)
	if !ok {
		return nil
	}
	var checks []catalog.Check
	for _, i := range b.interpreters {
		checks = append(checks, catalog.Check{Name: i.language, OK: true, Detail: i.program.String() + ", isolation=" + i.Isolation()})
		for _, c := range checkConfinement(ctx, i.Sandbox) {
			c.Name = i.language + ": " + c.Name
			checks = append(checks, c)
		}
	}
	return checks
}

// runtimeOf returns what runs scripts in a language, for the journal.
func (s *scripts) runtimeOf(language string) string {
	if machineLanguages[language] != nil {
		return language
	}
	return s.config().runtime
}

// languageFor returns the language of a script: the one that its caller names, else that of a code fence around it,
// else the first one that is configured.
func (s *scripts) languageFor(named, code string) string {
	if named != "" {
		return named
	}
	first := s.first()
	switch fence := fenceOf(code); {
	case fence == languagePython || fence == "py":
		return languagePython
	case fence == languageNode:
		return languageNode
	case fence == "js" && first == languageNode, fence == languageJavaScript && first == languageNode:
		return languageNode // which it is, too
	case first != languageJavaScript && (fence == "" || fence == first):
		return first
	}
	return "" // JavaScript and TypeScript are told apart by the compiler
}

// first returns the language of scripts which name none, in which descriptions and searches declare SDK, too.
func (s *scripts) first() string { return s.config().limits.languages[0] }

// fenceOf returns the language that a code fence around a script says, "" if there is none.
func fenceOf(code string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(code), "\n")
	name, ok := strings.CutPrefix(line, "```")
	if !ok {
		return ""
	}
	return strings.ToLower(strings.TrimSpace(name))
}

// admitLanguage refuses a language that is not configured.
func (s *scripts) admitLanguage(name string) error {
	known := s.config().limits.languages
	if name == "" {
		name = languageJavaScript
	}
	for _, l := range known {
		if l == name || l == languageJavaScript && name == languageTypeScript {
			return nil
		}
	}
	return fault.Newf(fault.CapabilityUnsupported, "this app runs no scripts in %s; it runs %s", name, strings.Join(known, ", ")).WithPath("/language").
		WithHint("Write the script in %s, or ask the operator to add %s to %s.", known[0], name, keyLanguages)
}

// languageNames returns the values that `language` can have in this app.
func (s *scripts) languageNames() []string {
	var out []string
	for _, l := range s.config().limits.languages {
		if out = append(out, l); l == languageJavaScript {
			out = append(out, languageTypeScript)
		}
	}
	return out
}

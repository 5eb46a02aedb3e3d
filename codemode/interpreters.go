package codemode

import (
	"context"
	"errors"
	"strings"

	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/internal/sandbox"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// pythonExecutor runs scripts in Python.
type pythonExecutor struct {
	*sandbox.Sandbox
	interpreter *python.Interpreter
}

// newPythonExecutor returns the executor of Python scripts. There is no fallback: where the interpreter is missing or
// cannot be confined, the fault is capability_unsupported and says what is missing.
func newPythonExecutor(l limits) (*pythonExecutor, error) {
	i, err := python.Find(context.Background(), l.python, l.pythonModules)
	if err != nil {
		return nil, err
	}
	s, err := sandbox.New(sandbox.Options{
		PoolSize: 1, MaxWorkers: l.maxWorkers, QueueMax: l.queueMax, Fresh: l.fresh, OnDemand: l.oneShot, Log: l.log, Layers: python.Layers(),
		Interpreter: &sandbox.Interpreter{Args: i.Arguments(l.pythonModules), Attr: python.Attributes(), Layers: python.Layers()},
	})
	if err != nil {
		return nil, fault.Newf(fault.CapabilityUnsupported, "%s cannot be confined on this machine: %s", i, fault.Clip(err.Error(), 500)).
			WithHint("Python scripts need Linux with namespaces and seccomp, which containers may forbid. Allow them, or take python out of %s.", keyLanguages).Because(err)
	}
	return &pythonExecutor{s, i}, nil
}

// byLanguage is the executor where an interpreter of the machine runs a language beside those of this build.
type byLanguage struct {
	wire.Executor // of all other languages
	python        *pythonExecutor
}

// Execute implements wire.Executor.
func (x *byLanguage) Execute(ctx context.Context, job *wire.Job, host wire.Host) (*wire.Result, error) {
	if job.Language == languagePython {
		return x.python.Execute(ctx, job, host)
	}
	return x.Executor.Execute(ctx, job, host)
}

// Close implements wire.Executor.
func (x *byLanguage) Close() error { return errors.Join(x.Executor.Close(), x.python.Close()) }

// Warm implements warmed.
func (x *byLanguage) Warm(ctx context.Context) error {
	var err error
	if w, ok := x.Executor.(warmed); ok {
		err = w.Warm(ctx)
	}
	return errors.Join(err, x.python.Warm(ctx))
}

// Load implements counted.
func (x *byLanguage) Load() sandbox.Load {
	of := x.python.Load()
	if c, ok := x.Executor.(counted); ok {
		own := c.Load()
		return sandbox.Load{Running: own.Running + of.Running, Waiting: own.Waiting + of.Waiting, Idle: own.Idle + of.Idle, Workers: own.Workers + of.Workers}
	}
	return of
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
	checks := []catalog.Check{{Name: "python", OK: true, Detail: b.python.interpreter.String() + ", isolation=" + b.python.Isolation()}}
	found := checkConfinement(ctx, b.python.Sandbox)
	for i := range found {
		found[i].Name = "python: " + found[i].Name
	}
	return append(checks, found...)
}

// languageFor returns the language of a script: the one that its caller names, else that of a code fence around it,
// else the first one that is configured.
func (s *scripts) languageFor(named, code string) string {
	if named != "" {
		return named
	}
	first := s.config().limits.languages[0]
	switch fence := fenceOf(code); {
	case fence == languagePython || fence == "py":
		return languagePython
	case first != languageJavaScript && (fence == "" || fence == first):
		return first
	}
	return "" // JavaScript and TypeScript are told apart by the compiler
}

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
		WithHint("Write the script in %s, or have the operator add %s to %s.", known[0], name, keyLanguages)
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

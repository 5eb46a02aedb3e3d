package codemode

import (
	"log/slog"
	"slices"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	"github.com/koan-go/koan/codemode/internal/bind"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// scripts is what every face and every action runs its code with.
type scripts struct {
	app      bind.App
	log      *slog.Logger
	executor wire.Executor // nil where nothing runs: code mode is disabled and there are no actions
	tools    toolLists
	settings atomic.Pointer[settings]
}

// config returns the settings for a script that begins now.
func (s *scripts) config() *settings { return s.settings.Load() }

// offers reports whether a face is configured.
func (s *scripts) offers(face string) bool { return slices.Contains(s.config().faces, face) }

// job is a job with the configured limits and an empty catalog.
func (s *scripts) job(task wire.Task, code string) *wire.Job {
	return &wire.Job{
		Task: task, Code: code, Limits: s.config().limits.Limits, Occasion: wire.Occasion{NowMs: time.Now().UnixMilli()},
		Bindings: wire.Bindings{Entities: []wire.Entity{}, Domains: []wire.Domain{}},
	}
}

// bindings returns what SDK has in a script.
func (s *scripts) bindings(v *catalog.View, code, in string) wire.Bindings {
	return bind.Importing(v, s.app, sourceOf(in).Imports(code))
}

// admitCode rejects empty and overlong code.
func (s *scripts) admitCode(code string) error {
	if strings.TrimSpace(code) == "" {
		return fault.New(fault.InvalidCode, "Code cannot be empty").WithPath("/code")
	}
	if n := utf8.RuneCountInString(code); n > s.config().maxCodeLength {
		return fault.Newf(fault.CodeTooLong, "the code has %d characters, at most %d are allowed", n, s.config().maxCodeLength).
			WithPath("/code").WithDetails(map[string]any{"limit": s.config().maxCodeLength, "length": n})
	}
	return nil
}

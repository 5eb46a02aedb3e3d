package codemode

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"sync/atomic"

	"github.com/koan-go/koan/codemode/internal/actions"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/regular"
)

// The keys of actions.
const (
	keyActionsDir      = "actions.dir"
	keyActionsEmbedded = "actions.embedded"
)

// Options are for apps with actions.
type Options struct {
	// Actions are the files of actions that the app embeds: NAME.ts or NAME.js, in this
	// folder or in its folder "actions". It may be nil.
	Actions fs.FS
	// Named says what else of the app has the name of an action, "" if nothing has. It may be
	// nil.
	Named func(name string) string
}

// embedded returns the folder of the files that the app embeds: go:embed keeps the name of
// the folder in their paths.
func (o Options) embedded() fs.FS {
	if info, err := fs.Stat(o.Actions, "actions"); err == nil && info.IsDir() {
		if sub, err := fs.Sub(o.Actions, "actions"); err == nil {
			return sub
		}
	}
	return o.Actions
}

// actionProvider offers the actions in files.
type actionProvider struct {
	opts    Options
	scripts *scripts
	changed func() // the app's

	set      atomic.Pointer[actions.Set] // nil: the app has no files of actions
	unwatch  context.CancelFunc          // nil: no folder is watched
	watching sync.WaitGroup
}

// taken says what else has the name of an action.
func (p *actionProvider) taken(name string) string {
	if name == promptName {
		return "a prompt"
	}
	if p.opts.Named != nil {
		return p.opts.Named(name)
	}
	return ""
}

// configured reports whether the app has files of actions, which run even where callers may
// send no scripts.
func (p *actionProvider) configured(v catalog.Values) bool {
	return p.opts.Actions != nil && v.Bool(keyActionsEmbedded) || v.String(keyActionsDir) != ""
}

// open reads the files of actions, and follows those of the configured folder.
func (p *actionProvider) open(ctx context.Context, v catalog.Values) error {
	l := &actions.Loader{Named: actionOf, Read: p.declared, Taken: p.taken, MaxCode: func() int { return p.scripts.config().maxCodeLength }}
	if p.opts.Actions != nil && v.Bool(keyActionsEmbedded) {
		l.Folders = append(l.Folders, actions.Folder{FS: p.opts.embedded(), Label: "actions (embedded)"})
	}
	dir := v.String(keyActionsDir)
	if dir != "" {
		if info, err := os.Stat(dir); err != nil || !info.IsDir() {
			return fault.Newf(fault.InvalidPayload, "%s: there is no folder %q", keyActionsDir, dir).WithHint("Create it, or correct the key; a relative folder is looked for in the working directory.")
		}
		l.Folders = append(l.Folders, actions.Folder{FS: regular.Dir(dir), Label: dir})
	}
	if len(l.Folders) == 0 {
		return nil
	}
	set, err := l.Load(ctx, nil)
	if err != nil {
		return err
	}
	p.set.Store(set)
	for _, w := range set.Problems {
		p.report(w)
	}
	if dir != "" {
		ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
		p.unwatch = cancel
		p.watching.Go(func() { actions.Watch(ctx, regular.Dir(dir), actionOf, func() { p.reload(ctx, l) }) })
	}
	return nil
}

// reload offers what the files are now. Where the folder cannot be read, nothing
// changes.
func (p *actionProvider) reload(ctx context.Context, l *actions.Loader) {
	last := p.set.Load()
	next, err := l.Load(ctx, last)
	switch {
	case ctx.Err() != nil:
		return
	case err != nil:
		p.scripts.log.Error("the actions stay as they are", "error", err)
		return
	case next.Equal(last):
		return
	}
	p.set.Store(next)
	for _, w := range next.Problems {
		p.report(w)
	}
	p.scripts.log.Info("the actions have changed", "actions", len(next.Actions), "problems", len(next.Problems))
	p.changed()
}

func (p *actionProvider) report(w actions.Problem) {
	p.scripts.log.Error("an action is wrong: "+w.Error(), "hint", w.Hint)
}

// close stops to follow the files; what is being read of them still needs the executor until it ends.
func (p *actionProvider) close() {
	if p.unwatch != nil {
		p.unwatch()
	}
}

// declared reads the declaration of a file in a worker: nothing of it runs, but nobody has
// looked at the file either.
func (p *actionProvider) declared(ctx context.Context, code, language string) (*wire.Declaration, *fault.Fault, error) {
	ctx, cancel := context.WithTimeout(ctx, p.scripts.config().wall)
	defer cancel()
	job := p.scripts.job(wire.Declare, code)
	job.Language, job.Action, job.Principal = language, true, "actions"
	res, err := p.scripts.executor.Execute(ctx, job, noHost{})
	var f *fault.Fault
	switch {
	case err == nil && res.Fault != nil:
		return nil, res.Fault, nil
	case errors.As(err, &f) && f.EndsRun():
		return nil, f, nil
	case err != nil:
		return nil, nil, err
	}
	var d wire.Declaration
	if err := json.Unmarshal(res.Result, &d); err != nil {
		return nil, nil, fmt.Errorf("the worker's answer cannot be read: %w", err)
	}
	return &d, nil, nil
}

// operations are what the files of actions declare.
func (p *actionProvider) operations() (out []*catalog.Operation) {
	set := p.set.Load()
	if set == nil {
		return nil
	}
	for _, a := range set.Actions {
		out = append(out, p.operation(a))
	}
	return out
}

func (p *actionProvider) operation(a *actions.Action) *catalog.Operation {
	op := &catalog.Operation{
		ID: catalog.ActionID(a.Name),
		Contract: catalog.Contract{
			Input: a.Input, Output: a.Output,
			Effects: a.Effects, Scopes: a.Scopes,
		},
		Listing: catalog.Listing{Title: a.Title, Summary: a.Description, Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: p.handler(a),
			Nested:  true, Rights: &catalog.Rights{App: a.App, Sets: a.Sets, Declared: a.Declared}, Quota: p.scripts.config().maxCalls,
		},
	}
	if len(a.Examples) > 0 {
		op.Example = a.Examples[0]
	}
	switch a.Listed {
	case actions.ListedNever:
		op.Reach &^= catalog.ReachTools
	case actions.ListedAlways:
		op.ListedInCode = true
	case actions.ListedByMode:
	}
	return op
}

// checks are the lines of `doctor` about actions.
func (p *actionProvider) checks() (out []catalog.Check) {
	set := p.set.Load()
	if set == nil {
		return nil
	}
	out = append(out, catalog.Check{Name: "actions", OK: true, Detail: fmt.Sprintf("%d from files", len(set.Actions))})
	for _, w := range set.Problems {
		out = append(out, catalog.Check{Name: "action", Detail: w.Error(), Hint: w.Hint})
	}
	return out
}

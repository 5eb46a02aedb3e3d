package codemode

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/undo"
)

// The values of `onConflict`.
const (
	conflictRefuses = "refuse"
	conflictSkips   = "skip"
)

// undoMembers are the input of koan.code.undo (CONTRACT section 10).
var undoMembers = members{
	required(filled("runId", "")),
	flag("dryRun", "", false),
	choice("onConflict", "", conflictRefuses, conflictSkips),
	idempotencyKey(),
}

func required(m member) member {
	m.required = true
	return m
}

type undoInput struct {
	RunID          string
	DryRun, Skip   bool
	IdempotencyKey string
}

func decodeUndo(in catalog.Input) (catalog.Decoded, error) {
	v, err := undoMembers.read(in.JSON)
	if err != nil {
		return catalog.Decoded{}, err
	}
	return catalog.Decoded{Value: undoInput{
		RunID: v.text("runId"), DryRun: v.flag("dryRun"), Skip: v.text("onConflict") == conflictSkips, IdempotencyKey: v.text("idempotencyKey"),
	}}, nil
}

// undoOperation undoes a run. It needs no sandbox, so that it is there where code mode is not,
// for the command line.
func (k koanFace) undoOperation() *catalog.Operation {
	op := &catalog.Operation{
		ID: catalog.CodeID(faceKoan, "undo"),
		Contract: catalog.Contract{
			Input: undoMembers.schema(), Output: json.RawMessage(undoOutput), Proven: true, Refused: json.RawMessage(executeRefused),
			Effects: catalog.Effects{Destructive: true},
		},
		Listing: catalog.Listing{
			Title:   "Undo a run",
			Summary: "Restores what a run changed.", Dispensable: true,
			Reach: catalog.ReachTools,
		},
		Work: catalog.Work{Decode: decodeUndo, Handler: k.undo},
	}
	if !k.scripts.offers(faceKoan) || !k.scripts.config().enabled {
		op.Reach = catalog.ReachApp
	}
	return op
}

// undo serves koan.code.undo: one run, whose result is shaped as that of koan.code.execute.
func (k koanFace) undo(ctx context.Context, call catalog.Call) (json.RawMessage, error) {
	in := call.Decoded().(undoInput)
	e := newExecution(k.scripts, call, executeInput{DryRun: in.DryRun, IdempotencyKey: in.IdempotencyKey})
	err := e.undo(ctx, in)
	if e.outcome != nil {
		return e.outcome.Reply, err
	}
	f := fault.From(err) // no run was opened
	body, merr := e.failure(f)
	if merr != nil {
		return nil, fault.New(fault.Internal, "").Because(errors.Join(err, merr))
	}
	return body, f
}

func (e *execution) undo(ctx context.Context, in undoInput) error {
	undos, ok := run.Joined[*undo.Undos](ctx)
	if !ok {
		return fault.New(fault.CapabilityUnsupported, "no run can be undone here")
	}
	kept, err := undos.Find(ctx, in.RunID)
	if err != nil {
		return err
	}
	spec := run.Spec{Atomic: true, DryRun: in.DryRun, Undoes: kept.Run, Reply: func(_ run.Return, o *run.Outcome, err error) (json.RawMessage, error) {
		return e.reply(o, err)
	}}
	if in.IdempotencyKey != "" && !in.DryRun {
		print, err := wire.Marshal([]any{in.RunID, in.Skip})
		if err != nil {
			return fault.New(fault.Internal, "").Because(err)
		}
		spec.IdempotencyKey, spec.Fingerprint = in.IdempotencyKey, journal.Digest(print)
	}
	r, err := run.Open(ctx, spec)
	if err != nil {
		return err
	}
	if in.DryRun {
		ctx = run.WithBeforeCommit(ctx, e.changesFit)
	}
	e.outcome, err = r.Execute(ctx, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
		undone, err := kept.Restore(ctx, a, undo.Options{Skip: in.Skip})
		if err != nil {
			return run.Return{}, err
		}
		raw, err := wire.Marshal(undone)
		if err != nil {
			return run.Return{}, fault.New(fault.Internal, "").Because(err)
		}
		e.result = &wire.Result{Result: raw}
		return run.Return{Result: raw, Left: len(undone.Skipped)}, nil
	})
	return err
}

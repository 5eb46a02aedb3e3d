package run

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/tape"
)

// Replayer is a provider that executes again what it has kept of runs (KeepScript).
type Replayer interface {
	// Replays reports whether runs of an operation are the provider's to execute again.
	Replays(id catalog.ID) bool
	// Replay executes a kept run and compares. With again it is executed as a run of
	// its own, that changes nothing, against today's data: again makes the call, with
	// the context that it is given. Without, nothing outside of the sandbox is asked.
	// An error says that nothing could be compared.
	Replay(ctx context.Context, k *KeptRun, again func(context.Context) error) (*Replayed, error)
}

// Replayed is what a replay found.
type Replayed struct {
	Run        string      `json:"runId"`
	Identical  bool        `json:"identical"`
	Data       bool        `json:"data"`  // against today's data
	Calls      int         `json:"calls"` // that were compared
	Difference *Difference `json:"difference,omitempty"`
	// Notes say what else is not as it was, and how far the comparison goes.
	Notes    []string `json:"notes"`
	Recorded Made     `json:"recorded"`
	Now      Made     `json:"now"`
}

// Made says of what a run was.
type Made struct {
	At             time.Time `json:"at"`
	ToolVersion    string    `json:"toolVersion"`
	CatalogVersion string    `json:"catalogVersion"`
	Outcome        string    `json:"outcome,omitempty"` // "ok" or a fault's code
}

// What a Difference is in.
const (
	InCall   = "call"   // another call, or none, or with another input
	InOutput = "output" // the same call gives something else
	InResult = "result"
	InAnswer = "answer"
	InLogs   = "logs"
	InError  = "error" // how the script ended
)

// Difference is where a replay first went another way.
type Difference struct {
	In        string `json:"in"`
	Call      int    `json:"call,omitempty"` // number in the order of issue, from 1
	Operation string `json:"operation,omitempty"`
	Line      int    `json:"line,omitempty"` // of the script, as it went now
	Column    int    `json:"column,omitempty"`
	Recorded  string `json:"recorded"` // shortened
	Now       string `json:"now"`
}

// ReplayRequest asks for a replay.
type ReplayRequest struct {
	Run  string
	Data bool // entity calls see today's data, in a dry run; the others stay as kept
	// View returns what a principal sees now.
	View func(p auth.Principal, mode string) *catalog.View
	// By are the providers that may have kept it.
	By []Replayer
}

// again is a run that is executed once more against today's data.
type again struct{ tape *tape.Tape }

type againKey struct{}

func replaying(ctx context.Context) *again {
	g, _ := ctx.Value(againKey{}).(*again)
	return g
}

// Replay executes a kept run again and says whether it goes the same way. It ends in
// not_found where the run is not kept.
func (e *Engine) Replay(ctx context.Context, req ReplayRequest) (*Replayed, error) {
	k, err := e.keptRun(ctx, req.Run)
	if err != nil {
		return nil, err
	}
	id, err := k.ID()
	if err != nil {
		return nil, unreadable(req.Run, err)
	}
	view := req.View(k.Principal(), k.Mode)
	var repeat func(context.Context) error
	if req.Data {
		t, err := tape.Thaw(k.Tape)
		if err != nil {
			return nil, unreadable(req.Run, err)
		}
		repeat = func(ctx context.Context) error {
			ctx = context.WithValue(ctx, againKey{}, &again{t})
			_, _, err := e.Invoke(ctx, Request{View: view, Principal: k.Principal(), ID: id, Input: k.Input, Surface: "replay", Set: k.Set})
			return err
		}
	}
	out, err := e.replay(ctx, req, k, id, view, repeat)
	if err != nil {
		return nil, err
	}
	out.Run, out.Data, out.Identical = k.Run, req.Data, out.Difference == nil
	out.Recorded = Made{At: k.Started, ToolVersion: k.ToolVersion, CatalogVersion: k.CatalogVersion, Outcome: k.Outcome}
	out.Now = Made{At: time.Now().UTC().Truncate(time.Millisecond), ToolVersion: e.opts.ToolVersion, CatalogVersion: view.Snapshot().Version()}
	out.Notes = append(changesSince(out.Recorded, out.Now, req.Data), out.Notes...)
	return out, nil
}

func (e *Engine) replay(ctx context.Context, req ReplayRequest, k *KeptRun, id catalog.ID, view *catalog.View, repeat func(context.Context) error) (*Replayed, error) {
	if id.Kind != catalog.KindCode {
		return e.replayCall(ctx, req, k, view, id)
	}
	for _, r := range req.By {
		if r.Replays(id) {
			return r.Replay(ctx, k, repeat)
		}
	}
	return nil, fault.Newf(fault.CapabilityUnsupported, "this app cannot replay a run of %s", k.Operation)
}

// changesSince says what has changed since a run was recorded.
func changesSince(then, now Made, data bool) []string {
	notes := []string{}
	if then.ToolVersion != now.ToolVersion {
		notes = append(notes, fmt.Sprintf("the run was made by version %s, and this is %s: a difference may come from the runtime", then.ToolVersion, now.ToolVersion))
	}
	if data && then.CatalogVersion != now.CatalogVersion {
		notes = append(notes, "the catalog is not the one of the run: entities, plugins or their schemas have changed")
	}
	return notes
}

// keptRun returns a run from the shelf.
func (e *Engine) keptRun(ctx context.Context, run string) (*KeptRun, error) {
	if e.shelf == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app has nowhere of its own to keep runs for a replay").
			WithHint("An app that opens its databases itself keeps none.")
	}
	t, err := e.shelf.Get(ctx, run)
	switch {
	case err != nil:
		return nil, ledgerFault(err)
	case t == nil:
		return nil, fault.Newf(fault.NotFound, "the run %q is not kept for a replay", shortened(run)).
			WithHint("replay.keep is `%s`, and the oldest go after replay.retentionHours and above replay.maxMb. Runs that never reached the script are not kept either.", e.opts.Tapes.Keep)
	case t.Body == nil:
		return nil, fault.Newf(fault.NotFound, "the run %q is not kept for a replay: %s", run, t.Why).WithHint("Raise replay.maxRunBytes and run it again.")
	}
	k, err := UnpackRun(t.Body)
	if err != nil {
		return nil, unreadable(run, err)
	}
	return k, nil
}

func unreadable(run string, err error) error {
	return fault.Newf(fault.CapabilityUnsupported, "the recording of the run %q cannot be read by this build", run).
		WithHint("Replay it with the build that recorded it.").Because(err)
}

// replayCall compares a run that was one call. Without data there is nothing in it
// that could differ.
func (e *Engine) replayCall(ctx context.Context, req ReplayRequest, k *KeptRun, view *catalog.View, id catalog.ID) (*Replayed, error) {
	out := &Replayed{Calls: 1}
	op := view.Snapshot().Operation(id)
	switch {
	case !req.Data:
		out.Notes = []string{"the run is one call of a tool and computes nothing of its own; --data repeats it against today's data"}
		return out, nil
	case op != nil && !op.Serial:
		out.Notes = []string{"the call is not made again: no transaction covers it"}
		return out, nil
	}
	t, err := tape.Thaw(k.Tape)
	if err != nil {
		return nil, unreadable(k.Run, err)
	}
	ctx = context.WithValue(ctx, againKey{}, &again{t})
	now, _, callErr := e.Invoke(ctx, Request{View: view, Principal: k.Principal(), ID: id, Input: k.Input, Surface: "replay", Listed: k.Listed, Set: k.Set})
	var then error
	if k.Fault != nil {
		f, err := fault.Decode(k.Fault)
		if err != nil {
			return nil, unreadable(k.Run, err)
		}
		then = f
	}
	out.Difference = CompareCalls(1, k.Operation, k.Output, then, now, callErr)
	return out, nil
}

// CompareCalls returns the difference between what a call returned then and now, nil
// for none. Of faults code, message and path count.
func CompareCalls(number int, operation string, then json.RawMessage, thenErr error, now json.RawMessage, nowErr error) *Difference {
	d := &Difference{In: InOutput, Call: number, Operation: operation, Recorded: outcomeText(then, thenErr), Now: outcomeText(now, nowErr)}
	if (thenErr == nil) != (nowErr == nil) {
		return d
	}
	if thenErr != nil {
		a, b := fault.From(thenErr), fault.From(nowErr)
		if a.Code == b.Code && a.Message == b.Message && a.Path == b.Path {
			return nil
		}
		return d
	}
	if bytes.Equal(then, now) {
		return nil
	}
	d.Recorded, d.Now = Excerpts(string(then), string(now))
	return d
}

func outcomeText(out json.RawMessage, err error) string {
	if err != nil {
		return shortened(fault.From(err).Error())
	}
	return shortened(string(out))
}

// Excerpts shortens two texts around the place where they part.
func Excerpts(a, b string) (string, string) {
	const before = 60
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n <= before {
		return shortened(a), shortened(b)
	}
	cut := func(s string) string { return "…" + strings.ToValidUTF8(shortened(s[n-before:]), "") }
	return cut(a), cut(b)
}

// Package replay is the participant that keeps runs, and executes kept ones again to see
// whether they go the same way.
//
// What belongs here: what is kept of a run, its form on the shelf, and what counts as a
// difference. Not here: what a script and its host say to each other, which is the
// business of the provider that runs scripts (Replayer), or where the shelf stands.
package replay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/internal/course"
	"github.com/koan-go/koan/framework/run/tape"
)

// Replayer is a provider that executes again what it has kept of runs (KeepScript).
type Replayer interface {
	// Replays reports whether runs of an operation are the provider's to execute again.
	Replays(id catalog.ID) bool
	// Replay executes a kept run and compares. With again it is executed as a run of
	// its own, that changes nothing. Without, nothing outside of the sandbox is asked.
	// An error says that nothing could be compared.
	Replay(ctx context.Context, k *KeptRun, again *Again) (*Replayed, error)
}

// Again says how a kept run is executed as a run of its own.
type Again struct {
	// Run makes the call that opens the run, with the context that it is given.
	Run func(context.Context) error
	// Makes reports whether a call of the script is made again; the others stay as kept.
	Makes func(id catalog.ID) bool
}

// Replayed is what a replay found.
type Replayed struct {
	Run        string      `json:"runId"`
	Identical  bool        `json:"identical"`
	Data       bool        `json:"data"`              // against today's data
	Plugins    []string    `json:"plugins,omitempty"` // whose calls were made again
	Calls      int         `json:"calls"`             // that were compared
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
	InCall    = "call"   // another call, or none, or with another input
	InOutput  = "output" // the same call gives something else
	InResult  = "result"
	InAnswer  = "answer"
	InEmitted = "emitted"
	InLogs    = "logs"
	InError   = "error" // how the script ended
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

// Request asks for a replay.
type Request struct {
	Run  string
	Data bool // entity calls see today's data, in a dry run; the others stay as kept
	// Plugins are those whose calls are made again, in a dry run, by the builds that run now.
	Plugins []string
	// View returns what a principal sees now.
	View func(p auth.Principal, mode string) *catalog.View
	// By are the providers that may have kept it.
	By []Replayer
}

// Replay executes a kept run again and says whether it goes the same way. It ends in
// not_found where the run is not kept.
func (t *Tapes) Replay(ctx context.Context, req Request) (*Replayed, error) {
	k, err := t.Kept(ctx, req.Run)
	if err != nil {
		return nil, err
	}
	id, err := k.ID()
	if err != nil {
		return nil, unreadable(req.Run, err)
	}
	view := req.View(k.Principal(), k.Mode)
	for _, name := range req.Plugins {
		if view.Snapshot().Owner(catalog.PluginID(name, "")) == nil {
			return nil, fault.Newf(fault.InvalidPayload, "there is no plugin %q", course.Excerpt(name))
		}
	}
	var repeat *Again
	if req.Data || len(req.Plugins) > 0 {
		kept, err := tape.Thaw(k.Tape)
		if err != nil {
			return nil, unreadable(req.Run, err)
		}
		repeat = &Again{Makes: req.makes, Run: func(ctx context.Context) error {
			_, _, err := t.engine.Invoke(ctx, k.request(id, view, kept))
			return err
		}}
	}
	out, err := t.replay(ctx, req, k, id, view, repeat)
	if err != nil {
		return nil, err
	}
	out.Run, out.Data, out.Plugins, out.Identical = k.Run, req.Data, req.Plugins, out.Difference == nil
	out.Recorded = Made{At: k.Started, ToolVersion: k.ToolVersion, CatalogVersion: k.CatalogVersion, Outcome: k.Outcome}
	out.Now = Made{At: time.Now().UTC().Truncate(time.Millisecond), ToolVersion: t.opts.ToolVersion, CatalogVersion: view.Snapshot().Version()}
	out.Notes = append(changesSince(out.Recorded, out.Now, req.Data), out.Notes...)
	return out, nil
}

// makes reports whether a call of a script is made again.
func (r *Request) makes(id catalog.ID) bool {
	if id.Kind == catalog.KindPlugin {
		return slices.Contains(r.Plugins, id.Owner)
	}
	return r.Data && (id.Kind == catalog.KindEntity || id.Kind == catalog.KindAction)
}

func (t *Tapes) replay(ctx context.Context, req Request, k *KeptRun, id catalog.ID, view *catalog.View, repeat *Again) (*Replayed, error) {
	if id.Kind != catalog.KindCode {
		return t.replayCall(ctx, &req, k, view, id)
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

// Kept returns a run from the shelf; not_found says why it is not there.
func (t *Tapes) Kept(ctx context.Context, id string) (*KeptRun, error) {
	if t.shelf == nil {
		return nil, fault.New(fault.CapabilityUnsupported, "this app has nowhere of its own to keep runs for a replay").
			WithHint("An app without entities keeps none, unless framework.App says Ledger.")
	}
	found, err := t.shelf.Get(ctx, id)
	switch {
	case err != nil:
		return nil, shelfFault(err)
	case found == nil:
		return nil, fault.Newf(fault.NotFound, "the run %q is not kept for a replay", course.Excerpt(id)).
			WithHint("replay.keep is `%s`, and the oldest go after replay.retentionHours and above replay.maxMb. Runs that never reached the script are not kept either.", t.opts.Keep)
	case found.Body == nil:
		return nil, fault.Newf(fault.NotFound, "the run %q is not kept for a replay: %s", id, found.Why).WithHint("Raise replay.maxRunBytes and run it again.")
	}
	k, err := UnpackRun(found.Body)
	if err != nil {
		return nil, unreadable(id, err)
	}
	return k, nil
}

// shelfFault is the fault of a shelf that is not available.
func shelfFault(err error) error {
	var f *fault.Fault
	if errors.As(err, &f) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return fault.New(fault.ServiceUnavailable, "the kept runs cannot be read").Because(err)
}

func unreadable(id string, err error) error {
	return fault.Newf(fault.CapabilityUnsupported, "the recording of the run %q cannot be read by this build", id).
		WithHint("Replay it with the build that recorded it.").Because(err)
}

// replayCall compares a run that was one call. Without data there is nothing in it
// that could differ.
func (t *Tapes) replayCall(ctx context.Context, req *Request, k *KeptRun, view *catalog.View, id catalog.ID) (*Replayed, error) {
	out := &Replayed{Calls: 1}
	op := view.Snapshot().Operation(id)
	switch {
	case id.Kind == catalog.KindPlugin && req.makes(id):
	case !req.Data:
		out.Notes = []string{"the run is one call of a tool, without computations; --data repeats it against today's data"}
		return out, nil
	case op != nil && !op.Serial && !op.Nested && (!op.Converses || op.Effects.ActsOutside()):
		out.Notes = []string{"the call is not made again: no transaction covers it"}
		return out, nil
	}
	kept, err := tape.Thaw(k.Tape)
	if err != nil {
		return nil, unreadable(k.Run, err)
	}
	call := k.request(id, view, kept)
	call.Via = k.Via
	now, _, callErr := t.engine.Invoke(ctx, call)
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

// request is the call of a kept run, made again along its tape.
func (k *KeptRun) request(id catalog.ID, view *catalog.View, kept *tape.Tape) run.Request {
	return run.Request{View: view, Principal: k.Principal(), ID: id, Input: k.Input, Surface: "replay", Set: k.Set, Continues: &again{kept}}
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
		return course.Excerpt(fault.From(err).Error())
	}
	return course.Excerpt(string(out))
}

// Excerpts shortens two texts around the place where they part.
func Excerpts(a, b string) (string, string) {
	const before = 60
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	if n <= before {
		return course.Excerpt(a), course.Excerpt(b)
	}
	cut := func(s string) string { return "…" + strings.ToValidUTF8(course.Excerpt(s[n-before:]), "") }
	return cut(a), cut(b)
}

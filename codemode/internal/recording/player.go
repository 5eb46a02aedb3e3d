package recording

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/replay"
)

// Live makes calls of a replay again, those for which Makes returns true. Next is called
// once for every call that the script makes or starts, in the order of issue.
type Live interface {
	Makes(id catalog.ID) bool
	Next() run.Position
	Invoke(ctx context.Context, at run.Position, id catalog.ID, input json.RawMessage) (json.RawMessage, error)
}

// Player is a host that answers as recorded, as long as it is asked the same. At the first
// difference it ends the script, so that the script's line is known.
type Player struct {
	script *Script
	live   Live // nil where no call is made again

	at    int // of the next turn
	calls int
	diff  *replay.Difference
	ended error // what ends the script at the next answer
	by    uint32
	cut   bool // it went as far as the recorded one
}

var _ wire.Host = (*Player)(nil)

// NewPlayer plays a script's host. live may be nil.
func NewPlayer(s *Script, live Live) *Player {
	return &Player{script: s, live: live}
}

// Call implements wire.Host.
func (p *Player) Call(ctx context.Context, id string, input json.RawMessage) (json.RawMessage, int64, error) {
	t, err := p.takeCall(Turn{Kind: turnCall, ID: id}, input)
	if err != nil {
		return nil, 0, err
	}
	if err := p.check(ctx, t, input, t.Output, t.fault()); err != nil {
		return nil, 0, err
	}
	return t.Output, t.NowMs, p.answerError(t)
}

// Start implements wire.Host.
func (p *Player) Start(ctx context.Context, ref uint32, id string, input json.RawMessage) {
	if p.ended != nil {
		return
	}
	t, err := p.takeCall(Turn{Kind: turnStart, ID: id, Ref: ref}, input)
	if err == nil {
		err = p.started(ctx, t, input)
	}
	if err != nil {
		p.ended, p.by = err, ref
	}
}

// started makes a started call at once, if it is made again: calls to entities are
// made one by one in the order of issue, so the result is the same.
func (p *Player) started(ctx context.Context, t *Turn, input json.RawMessage) error {
	if p.live == nil {
		return nil
	}
	for i := p.at; i < len(p.script.Turns); i++ {
		if end := &p.script.Turns[i]; end.Kind == turnNext && end.Ref == t.Ref {
			return p.check(ctx, t, input, end.Output, end.fault())
		}
	}
	return p.check(ctx, t, input, nil, errUndelivered) // nobody has seen what it gave
}

var errUndelivered = fault.New(fault.Cancelled, "the call's end never reached the script")

// Next implements wire.Host.
func (p *Player) Next(_ context.Context, most time.Duration) (uint32, json.RawMessage, int64, error) {
	if p.ended != nil {
		return p.by, nil, 0, p.ended
	}
	t, err := p.turn(Turn{Kind: turnNext, MostUs: bound(most)})
	if err != nil {
		return 0, nil, 0, err
	}
	return t.Ref, t.Output, t.NowMs, p.answerError(t)
}

// Progress implements wire.Host.
func (p *Player) Progress(float64, float64, string) {}

// Emit implements wire.Host.
func (p *Player) Emit(int, json.RawMessage) {}

// Log implements wire.Host.
func (p *Player) Log(wire.Log) {}

// takeCall takes the turn of a call.
func (p *Player) takeCall(now Turn, input json.RawMessage) (*Turn, error) {
	p.calls++
	now.Input, now.Digest = clip(input), digest(input)
	return p.turn(now)
}

// turn takes the next turn, if it is the same as now.
func (p *Player) turn(now Turn) (*Turn, error) {
	if p.ended != nil {
		return nil, p.ended
	}
	if p.at == len(p.script.Turns) {
		if p.script.Ending.Cut { // the recorded one was interrupted before it got here
			return nil, p.interrupt()
		}
		return nil, p.differ(&replay.Difference{In: replay.InCall, Recorded: "the script made no more calls", Now: now.describe()}, now.ID)
	}
	then := &p.script.Turns[p.at]
	if then.Kind != now.Kind || then.ID != now.ID || then.Digest != now.Digest || then.MostUs != now.MostUs || now.Kind == turnStart && then.Ref != now.Ref {
		d := &replay.Difference{In: replay.InCall}
		d.Recorded, d.Now = replay.Excerpts(then.describe(), now.describe())
		return nil, p.differ(d, now.ID)
	}
	p.at++
	return then, nil
}

// describe describes a turn for people.
func (t *Turn) describe() string {
	if t.Kind != turnNext {
		return t.ID + " " + t.Input
	}
	if t.MostUs < 0 {
		return "waiting for a call"
	}
	return fmt.Sprintf("waiting for a call, or %g ms", float64(t.MostUs)/1000)
}

// answerError returns the error of a turn.
func (p *Player) answerError(t *Turn) error {
	if t.Ends == endsCut {
		return p.interrupt()
	}
	return t.fault()
}

// interrupt ends the script where the recorded one was ended from outside.
func (p *Player) interrupt() error {
	p.cut = true
	p.ended = errInterrupted
	return p.ended
}

// errInterrupted and errDiffers end a script. Only their class is visible.
var (
	errInterrupted = fault.New(fault.ReplayDiffers, "the recorded run was interrupted here")
	errDiffers     = fault.New(fault.ReplayDiffers, "")
)

func (p *Player) differ(d *replay.Difference, id string) error {
	if p.diff == nil {
		p.diff = d
		d.Operation = id
		if d.Call == 0 {
			d.Call = max(p.calls, 1)
		}
	}
	p.ended = errDiffers
	return p.ended
}

// check makes a call that is made again, and compares its result with then.
func (p *Player) check(ctx context.Context, t *Turn, input, then json.RawMessage, thenErr error) error {
	if p.live == nil {
		return nil
	}
	at := p.live.Next()
	id, err := catalog.ParseID(t.ID)
	if err != nil || !p.live.Makes(id) || strings.HasPrefix(t.ID, wire.DiscoveryPrefix) || t.Ends != "" {
		return nil
	}
	out, err := p.live.Invoke(ctx, at, id, input)
	if run.Ends(err) {
		return err
	}
	if thenErr == error(errUndelivered) {
		return nil
	}
	if d := replay.CompareCalls(p.calls, t.ID, then, thenErr, out, err); d != nil {
		return p.differ(d, t.ID)
	}
	return nil
}

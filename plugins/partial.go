package plugins

import (
	"context"
	"encoding/json"
	"math"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/plugins/internal/wire"
)

// Bounds of the partial results of a call, in bytes. What is beyond them is not passed on.
const (
	maxPartial  = 64 << 10
	maxPartials = 256 << 10
)

// partialResults are those of one call so far.
type partialResults struct{ number, bytes int }

// pass passes on what a plugin reports of a call. Partial results are for the caller of a run that is this one call:
// what a script's caller gets meanwhile is the script's to say.
func (p *partialResults) pass(ctx context.Context, c catalog.Call, of *wire.Progress) {
	partial := of.GetPartial()
	if number := of.GetDone() + of.GetTotal(); math.IsNaN(number) || math.IsInf(number, 0) {
		return
	}
	if len(partial) == 0 || of.GetMessage() != "" || of.GetDone() != 0 || of.GetTotal() != 0 {
		c.Progress(of.GetDone(), of.GetTotal(), of.GetMessage())
	}
	attempt, at, ok := run.Current(ctx)
	switch {
	case len(partial) == 0, !ok, attempt.Run().Scripted(), at.Nested():
		return
	case len(partial) > maxPartial, p.bytes+len(partial) > maxPartials, !json.Valid(partial):
		return
	}
	c.Emit(p.number, run.RedactBody(ctx, partial))
	p.number, p.bytes = p.number+1, p.bytes+len(partial)
}

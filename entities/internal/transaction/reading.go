package transaction

import (
	"context"
	"time"

	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/framework/run/tape"
)

// Reading is the attempt of who reads outside of a run: it writes nothing, and nobody is told
// of it.
type Reading struct{ tape *tape.Tape }

var _ store.Attempt = (*Reading)(nil)

// NewReading returns one that reads now.
func NewReading() *Reading { return &Reading{tape.New(time.Now())} }

func (*Reading) Number() int         { return 1 }
func (*Reading) Atomic() bool        { return true }
func (*Reading) CommitsByCall() bool { return false }
func (*Reading) WriteFirst() bool    { return false }
func (*Reading) Single() bool        { return true }
func (*Reading) Records() bool       { return false }
func (*Reading) KeepsImages() bool   { return false }
func (*Reading) HoldImage(int) bool  { return false }
func (r *Reading) Tape() *tape.Tape  { return r.tape }
func (*Reading) Fresh() bool         { return true }
func (*Reading) Hold(int) error      { return nil }
func (*Reading) Release(int)         {}
func (*Reading) Observed() bool      { return false }

// Statement implements store.Attempt.
func (*Reading) Statement(context.Context, string) func(error) { return func(error) {} }

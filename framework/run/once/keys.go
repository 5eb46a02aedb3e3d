// Package once is the participant that makes runs with an idempotency key, and runs that
// somebody has agreed to, happen once: whoever calls again gets what the run gave the first
// time, and a run that was cut off is gone on with.
//
// What belongs here: claims on keys, the calls with an effect outside that are noted before
// they are made, and the contract with the ledger that keeps both. Not here: SQL, or
// why a run has to happen once.
package once

import (
	"errors"
	"log/slog"
	"time"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
)

// Options configure Keys.
type Options struct {
	Lease      time.Duration // how long a key stays with a holder that is not heard of; 0 is 15 s
	Retention  time.Duration // how long what a run gave is kept; 0 is a week
	ReplyBytes int           // how many bytes of it; 0 is 1 MiB
	Log        *slog.Logger  // nil is slog.Default
}

// Keys are those of the runs of an engine.
type Keys struct {
	opts   Options
	ledger Ledger // nil where keys are not kept
}

var _ run.Participant = (*Keys)(nil)

// New returns keys without a ledger.
func New(o Options) *Keys {
	if o.Lease == 0 {
		o.Lease = 15 * time.Second
	}
	if o.Retention == 0 {
		o.Retention = 7 * 24 * time.Hour
	}
	if o.ReplyBytes == 0 {
		o.ReplyBytes = 1 << 20
	}
	if o.Log == nil {
		o.Log = slog.Default()
	}
	return &Keys{opts: o}
}

// Use sets the ledger, before the first call.
func (k *Keys) Use(l Ledger) { k.ledger = l }

// Open implements run.Participant.
func (k *Keys) Open(r *run.Run) (run.Part, error) {
	if k.ledger == nil {
		return nil, nil
	}
	if key := r.Spec().IdempotencyKey; key != "" {
		if r.Principal().Subject == "" {
			return nil, fault.New(fault.Unauthorized, "a caller without a name cannot hold an idempotency key").WithPath("/idempotencyKey")
		}
		r.RequireClaim(run.Key{Operation: scope(r), Name: key, Busy: fault.New(fault.InProgress, "").WithPath("/idempotencyKey")})
	}
	return &hold{keys: k, run: r, ledger: k.ledger}, nil
}

// keyTimeout bounds what a run asks of the ledger when its own time is over.
const keyTimeout = 10 * time.Second

func isFault(err error) bool {
	var f *fault.Fault
	return errors.As(err, &f)
}

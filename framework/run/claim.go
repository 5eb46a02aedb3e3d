package run

import (
	"errors"

	"github.com/koan-go/koan/framework/fault"
)

// ErrLost ends a run whose claim has expired and been taken over by another process.
var ErrLost = errors.New("run: another process has taken this run over")

// Key is the key under which a run is claimed, so that it is carried out once.
type Key struct {
	Operation string // unique together with Name and the principal's subject
	Name      string
	Busy      *fault.Fault // the fault for other callers meanwhile
}

// claim is the state of a run's claim, which ensures that the run is carried out once.
type claim struct {
	key       *Key // under which the run must be claimed; nil if it need not be
	claimed   bool
	lose      func(error) // ends the run when the claim is lost
	keepsTape bool        // claiming the run must not replace its tape
	uncertain bool        // it is not known whether the run committed
}

// RequireClaim makes the run require a claim before its next attempt. Only the first key counts.
func (c *claim) RequireClaim(k Key) {
	if c.key == nil {
		c.key = &k
	}
}

// Key returns the key under which the run must be claimed, nil if it need not be.
func (c *claim) Key() *Key { return c.key }

// KeepsTape reports whether claiming the run must not replace its tape, since effects along this
// tape count already.
func (c *claim) KeepsTape() bool { return c.keepsTape }

// LoseClaim ends the run, since another process has taken it over.
func (c *claim) LoseClaim() { c.lose(ErrLost) }

// MarkUncertain records that it is not known whether the run has committed.
func (c *claim) MarkUncertain() { c.uncertain = true }

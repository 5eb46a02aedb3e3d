package run

import "errors"

// ErrLost ends a run whose claim has run out, so that somebody else has taken it over.
var ErrLost = errors.New("run: somebody else has taken this run over")

// claim is how far a run is with being claimed, so that it is carried out once.
type claim struct {
	key       *Key        // that the run has to be claimed under; nil for none
	held      bool        // it is
	lose      func(error) // ends the run where the claim is lost
	keepsTape bool        // whoever claims the run may not give it another tape
	uncertain bool        // nobody knows whether the run committed
}

// RequireClaim has the run be claimed before its next attempt. The first key counts.
func (c *claim) RequireClaim(k Key) {
	if c.key == nil {
		c.key = &k
	}
}

// Key is what the run is claimed under, nil where it need not be.
func (c *claim) Key() *Key { return c.key }

// KeepsTape reports whether whoever claims the run has to leave it its tape: what the run
// did along it counts already.
func (c *claim) KeepsTape() bool { return c.keepsTape }

// LoseClaim ends the run: somebody else has taken it over.
func (c *claim) LoseClaim() { c.lose(ErrLost) }

// MarkUncertain notes that nobody knows whether the run has committed.
func (c *claim) MarkUncertain() { c.uncertain = true }

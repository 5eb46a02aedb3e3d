package javascript

import (
	"time"
)

// loop is what a script waits in: for timers, and for calls in flight.
type loop struct {
	host   *connection
	timers *timers
	calls  *calls
}

// waitOnce waits for the next timer or the end of a call in flight, whichever comes first, and
// handles it. more is false if there was neither.
func (l *loop) waitOnce() (more bool, err error) {
	if l.host.stopped() {
		return false, errStopped
	}
	if len(l.calls.open) == 0 {
		return l.timers.fire()
	}
	most := time.Duration(-1)
	if t := l.timers.next(); t != nil {
		most = time.Duration(max(t.due-l.host.clock.now, 0)) * time.Microsecond
	}
	ref, r := l.host.Await(most)
	if ref == 0 && !r.Ends {
		return l.timers.fire()
	}
	return true, l.calls.settleCall(ref, r)
}

// drain runs timers and waits for calls in flight until there are none.
func (l *loop) drain() error {
	for {
		if more, err := l.waitOnce(); err != nil || !more {
			return err
		}
	}
}

package plugins

import (
	"context"
	"sync"
	"time"
)

// firstStart is how far the first start of a plugin has come.
type firstStart struct {
	tried  chan struct{} // closed when nobody has to wait for its operations any more: they are known, or it failed, or takes long
	over   chan struct{} // closed when a process was started, well or not
	wanted chan struct{} // closed when somebody needs the process
	want   func()        // closes wanted
	end    func()        // closes over
}

func newFirstStart() firstStart {
	f := firstStart{tried: make(chan struct{}), over: make(chan struct{}), wanted: make(chan struct{})}
	f.want = sync.OnceFunc(func() { close(f.wanted) })
	f.end = sync.OnceFunc(func() { close(f.over) })
	return f
}

// isOver reports whether a process was started, well or not.
func (f *firstStart) isOver() bool {
	select {
	case <-f.over:
		return true
	default:
		return false
	}
}

// awaitUse waits until somebody needs the process.
func (f *firstStart) awaitUse(ctx context.Context) {
	select {
	case <-f.wanted:
	case <-ctx.Done():
	}
}

// await has the process started, and waits until that is over, or takes longer than it may.
func (f *firstStart) await(ctx context.Context, most time.Duration) {
	f.want()
	late := time.NewTimer(most)
	defer late.Stop()
	select {
	case <-f.over:
	case <-late.C:
	case <-ctx.Done():
	}
}

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

// awaitUse waits until somebody needs the process of a plugin whose operations are known, where it may never be
// needed: in an app that is started for one command.
func (p *plugin) awaitUse(ctx context.Context) {
	if !p.provider.host.OneShot() {
		return
	}
	select {
	case <-p.wanted:
	case <-ctx.Done():
	}
}

// awaitFirst has the process started, and waits until that is over, or takes too long.
func (p *plugin) awaitFirst(ctx context.Context) {
	p.want()
	late := time.NewTimer(p.provider.opts.StartTimeout)
	defer late.Stop()
	select {
	case <-p.over:
	case <-late.C:
	case <-ctx.Done():
	}
}

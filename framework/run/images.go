package run

import (
	"context"
	"errors"
	"sync"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/internal/transaction"
	"github.com/koan-go/koan/framework/run/store"
)

// images are what a run did to rows, for an undo.
type images struct {
	mu      sync.Mutex
	wanted  bool
	dropped bool // something that was committed has none
	all     []journal.Image
}

// KeepImages has stores keep what an undo of the run needs, when the run opens.
func (r *Run) KeepImages() { r.images.wanted = true }

// Images are what the run did to rows, as far as it is committed, in the order of its commits.
// complete is false where they are not all there: they took more room than there was.
func (r *Run) Images() (all []journal.Image, complete bool) {
	r.images.mu.Lock()
	defer r.images.mu.Unlock()
	return r.images.all, r.images.wanted && !r.images.dropped
}

// imageShare is the share of what the host holds for a run that images may take.
const imageShare = 3

// imageRoom is what the images of an attempt take. The attempt's lock guards it.
type imageRoom struct {
	held    int
	dropped bool
}

// KeepsImages implements store.Attempt. A dry run leaves nothing that could be undone; an undo
// needs them to see what it found.
func (a *Attempt) KeepsImages() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.wantsImages() && !a.images.dropped
}

func (a *Attempt) wantsImages() bool {
	spec := &a.run.spec
	return spec.Undoes != "" || a.run.images.wanted && !spec.DryRun
}

// HoldImage implements store.Attempt.
func (a *Attempt) HoldImage(n int) bool {
	a.mu.Lock()
	dropped, held := a.images.dropped, a.images.held
	a.mu.Unlock()
	if dropped || !a.wantsImages() {
		return false
	}
	if int64(held+n) > a.run.engine.budget.Run()/imageShare || a.share.Take(int64(n)) != nil {
		a.dropImages()
		return false
	}
	a.mu.Lock()
	a.images.held += n
	a.mu.Unlock()
	return true
}

// dropImages makes room by keeping no images. It reports whether that made any.
func (a *Attempt) dropImages() bool {
	a.mu.Lock()
	n := a.images.held
	a.images = imageRoom{dropped: true}
	a.mu.Unlock()
	a.share.Give(int64(n))
	return n > 0
}

// noteImages reads the images of what is about to be committed.
func (x *transactions) noteImages(ctx context.Context, group *transaction.Group) error {
	x.images.all, x.images.dropped = nil, false
	if len(group.WrittenSets()) == 0 {
		return nil
	}
	if !x.attempt.KeepsImages() {
		x.images.dropped = true
		return nil
	}
	all, complete, err := group.Images(ctx)
	if errors.Is(err, store.ErrStale) {
		return x.attempt.restart("the data changed before the run's changes were read")
	}
	x.images.all, x.images.dropped = all, !complete
	return err
}

// confirmImages keeps the images of what has been committed.
func (x *transactions) confirmImages() {
	to := &x.attempt.run.images
	to.mu.Lock()
	defer to.mu.Unlock()
	to.all, to.dropped = append(to.all, x.images.all...), to.dropped || x.images.dropped
}

// Undoing reports whether the run that ctx belongs to undoes another one: hooks may do less
// then, since what they did in that run is undone too.
func Undoing(ctx context.Context) bool {
	c := currentCall(ctx)
	return c != nil && c.attempt != nil && c.attempt.run.spec.Undoes != ""
}

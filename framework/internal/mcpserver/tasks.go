package mcpserver

import (
	"context"
	"sync"
	"time"
)

// tasks are the tasks of a server, of all its clients: they outlive connections.
type tasks struct {
	mu      sync.Mutex
	known   map[string]*task
	closing bool
	ends    context.Context // of the questions that tasks wait with
	end     context.CancelFunc
}

const (
	// maxTasks is how many tasks of one caller are kept, and maxTaskBytes how many bytes
	// their results take before no more are made: a call then is an ordinary one. A task
	// that a client knows of is never dropped before its time.
	maxTasks     = 256
	maxTaskBytes = 16 << 20
	// maxAllTaskBytes is the same for all callers together.
	maxAllTaskBytes = 128 << 20
)

// open makes a task for a call, which its caller does not know of yet. It returns nil if that caller
// has too many, of those that run or of all.
func (k *tasks) open(t *task, running int) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.closing {
		return false
	}
	if k.known == nil {
		k.known = map[string]*task{}
		k.ends, k.end = context.WithCancel(context.Background())
	}
	own, live, bytes, all := 0, 0, 0, 0
	for id, o := range k.known {
		if o.expired() {
			delete(k.known, id)
			continue
		}
		n := o.bytes()
		all += n
		if o.subject != t.subject {
			continue
		}
		own++
		bytes += n
		if o.running() {
			live++
		}
	}
	if live >= running || own >= maxTasks || bytes > maxTaskBytes || all > maxAllTaskBytes {
		return false
	}
	t.keeper, t.asks = k, k.ends
	k.known[t.id] = t
	return true
}

// find returns a task that its caller knows of, nil where there is none.
func (k *tasks) find(id, subject string) *task {
	k.mu.Lock()
	defer k.mu.Unlock()
	t := k.known[id]
	if t == nil || t.subject != subject || t.expired() || !t.isHanded() {
		return nil
	}
	return t
}

// ended drops a task that its caller never knew of.
func (k *tasks) ended(t *task) {
	if t.isHanded() {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, t.id)
}

// drain ends the tasks with the server: no more questions can be answered, and what still
// runs after the grace, or once stopped is closed, is cancelled.
func (k *tasks) drain(grace time.Duration, stopped <-chan struct{}) {
	k.mu.Lock()
	k.closing = true
	if k.end != nil {
		k.end()
	}
	var left []*task
	for _, t := range k.known {
		if t.running() {
			left = append(left, t)
		}
	}
	k.mu.Unlock()
	over := make(chan struct{})
	go func() {
		defer close(over)
		for _, t := range left {
			<-t.done
		}
	}()
	waitFor(over, grace, stopped, nil)
	for _, t := range left {
		t.stop(errEnding)
	}
	waitFor(over, 2*settle, nil, nil)
}

func (t *task) running() bool {
	select {
	case <-t.done:
		return false
	default:
		return true
	}
}

func (t *task) isHanded() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.handed
}

func (t *task) expired() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return !t.ended.IsZero() && time.Since(t.ended) > taskLife
}

func (t *task) bytes() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.result)
}

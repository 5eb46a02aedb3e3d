package mcpserver

import (
	"errors"
	"io"
	"sync"
	"time"
)

// progressGap is the pause between the last progress of a call and its response: clients
// that read both in one chunk drop the progress.
const progressGap = time.Millisecond

// outgoing is one message for the client, without the line's end.
type outgoing struct {
	// text is not shared between messages: the writer appends to it, so that a text for
	// several clients would show one of them what is for another.
	text []byte
	// progress is set on a call's progress notifications and on its response, so that
	// the writer can keep the gap between them.
	progress *written
	isAnswer bool
	failure  int      // the JSON-RPC code of an answer that is an error, else 0
	wanted   []string // scopes with which that error would not be
	comment  bool     // a keep-alive comment, not a message
	// taken is called once the message is in the queue (or is dropped), before it can be
	// written. It may be nil.
	taken func()
}

// written is when a call's last progress went out. Only the writer touches it.
type written struct{ at time.Time }

// outbox is the queue in front of the one writer of a connection. It is bounded in bytes:
// senders of responses wait while the client does not read.
type outbox struct {
	max int

	mu     sync.Mutex
	change sync.Cond
	queue  []outgoing
	bytes  int
	open   bool // unbounded, because the connection is ending
	closed bool
	busy   bool // somebody writes to the connection
	err    error
	failed chan struct{} // closed with the first failure
}

func newOutbox(max int) *outbox {
	b := &outbox{max: max, failed: make(chan struct{})}
	b.change.L = &b.mu
	return b
}

// put queues a message and waits for room first. After close or a failed write
// the message is dropped.
func (b *outbox) put(m outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for b.bytes > 0 && b.bytes+len(m.text) > b.max && !b.open && !b.closed && b.err == nil {
		b.change.Wait()
	}
	b.add(m)
}

// offer queues a message if there is room for it now.
func (b *outbox) offer(m outgoing) (taken bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return (b.bytes == 0 || b.bytes+len(m.text) <= b.max) && b.add(m)
}

func (b *outbox) add(m outgoing) (queued bool) {
	if m.taken != nil {
		m.taken()
	}
	if b.closed || b.err != nil || len(m.text) == 0 {
		return false
	}
	b.queue = append(b.queue, m)
	b.bytes += len(m.text)
	if !b.busy { // or who writes finds it
		b.change.Broadcast()
	}
	return true
}

// unbind removes the bound, so that nobody waits any more.
func (b *outbox) unbind() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = true
	b.change.Broadcast()
}

// close lets the writer end once everything that is queued is written.
func (b *outbox) close() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.closed = true
	b.change.Broadcast()
}

// errAbandoned ends a writer whose client does not read.
var errAbandoned = errors.New("mcpserver: the client does not read")

// fail ends the writer and drops what is queued.
func (b *outbox) fail(err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.err == nil {
		b.err = err
		close(b.failed)
	}
	b.queue, b.bytes = nil, 0
	b.change.Broadcast()
}

// run writes until close or until a write fails.
func (b *outbox) run(w io.Writer) error {
	for {
		b.mu.Lock()
		for b.err == nil && (b.busy || len(b.queue) == 0 && !b.closed) {
			b.change.Wait()
		}
		m, ok := b.batch()
		b.busy = ok
		err := b.err
		b.mu.Unlock()
		if !ok {
			return err
		}
		b.write(w, m)
	}
}

// write writes a message and then what is queued, until nothing is. Whoever calls it
// has made the outbox busy.
func (b *outbox) write(w io.Writer, m outgoing) {
	for ok := true; ok; {
		if m.progress != nil && m.isAnswer && !m.progress.at.IsZero() {
			time.Sleep(time.Until(m.progress.at.Add(progressGap)))
		}
		if _, err := w.Write(append(m.text, '\n')); err != nil {
			b.fail(err)
		}
		if m.progress != nil && !m.isAnswer {
			m.progress.at = time.Now()
		}
		b.mu.Lock()
		if m, ok = b.batch(); !ok {
			b.busy = false
			if b.closed || b.err != nil {
				b.change.Broadcast()
			}
		}
		b.mu.Unlock()
	}
}

// atOnce bounds what is written at once, in bytes.
const atOnce = 32 << 10

// batch takes the first message, and those behind it that can go out in one piece
// with it. Progress goes out by itself: see progressGap.
func (b *outbox) batch() (outgoing, bool) {
	m, ok := b.head()
	for ok && m.progress == nil && len(b.queue) > 0 && b.queue[0].progress == nil && len(m.text)+len(b.queue[0].text) < atOnce {
		next, _ := b.head()
		m.text = append(append(m.text, '\n'), next.text...)
	}
	return m, ok
}

// carrier is a sink whose sender may write a message itself if the writer is idle and
// nothing is queued, without waking the writer. Otherwise carry puts the message into the
// queue and returns nil.
type carrier interface {
	carry(m outgoing) (write func())
}

// pipe is an outbox with the writer of its messages.
type pipe struct {
	*outbox
	w io.Writer
}

var _ carrier = pipe{}

// carry implements carrier.
func (p pipe) carry(m outgoing) (write func()) {
	p.mu.Lock()
	free := !p.busy && len(p.queue) == 0 && !p.closed && p.err == nil && len(m.text) > 0
	p.busy = p.busy || free
	p.mu.Unlock()
	if !free {
		p.put(m)
		return nil
	}
	if m.taken != nil {
		m.taken()
	}
	return func() { p.write(p.w, m) }
}

func (b *outbox) take() (outgoing, bool, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.queue) == 0 && !b.closed && b.err == nil {
		b.change.Wait()
	}
	m, ok := b.head()
	return m, ok, b.err
}

// takeUntil is take for a reader that may leave before the queue ends: it returns when
// stop is closed and wake was called after that.
func (b *outbox) takeUntil(stop <-chan struct{}) (outgoing, bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for {
		select {
		case <-stop:
			return outgoing{}, false
		default:
		}
		if len(b.queue) > 0 || b.closed || b.err != nil {
			return b.head()
		}
		b.change.Wait()
	}
}

// wake makes readers check whether they should stop.
func (b *outbox) wake() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.change.Broadcast()
}

// giveBack puts a message that could not be written before all others.
func (b *outbox) giveBack(m outgoing) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.queue = append([]outgoing{m}, b.queue...)
	b.bytes += len(m.text)
}

// head takes the first message, if there is one and the writer has not failed.
func (b *outbox) head() (outgoing, bool) {
	if b.err != nil || len(b.queue) == 0 {
		return outgoing{}, false
	}
	m := b.queue[0]
	b.queue[0] = outgoing{}
	b.queue = b.queue[1:]
	b.bytes -= len(m.text)
	b.change.Broadcast()
	return m, true
}

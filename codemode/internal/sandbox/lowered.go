package sandbox

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"

	"github.com/koan-go/koan/codemode/internal/wire"
)

// loweredBytes bounds what is kept of all scripts.
const loweredBytes = 8 << 20

// source says which script something was made of. A worker is not trusted with what
// it says of a script, so nobody gets what a worker made for somebody else.
type source [sha256.Size]byte

func sourceOf(job *wire.Job, bindings []byte) source {
	h := sha256.New()
	for _, part := range []string{job.Principal, job.Language, job.EntryFunction, job.Code} {
		_ = binary.Write(h, binary.BigEndian, int64(len(part))) // a hash takes everything
		h.Write([]byte(part))
	}
	if job.Module {
		h.Write([]byte{1})
	}
	if len(job.Bindings.Servers) > 0 { // they say what can be imported; the rest changes nothing
		h.Write(bindings)
	}
	return source(h.Sum(nil))
}

// lowered keeps what workers made of scripts that the engine cannot read as they
// are, for the next time: a dry run and then the run, another attempt, the same
// script for other arguments. What was not asked for longest goes first.
type lowered struct {
	mu    sync.Mutex
	bytes int
	order *list.List // of *keptLowered, the last asked for first
	known map[source]*list.Element
}

type keptLowered struct {
	of   source
	made wire.Lowered
}

func (k *keptLowered) bytes() int { return len(k.made.Text) + len(k.made.Map) }

func newLowered() *lowered { return &lowered{order: list.New(), known: map[source]*list.Element{}} }

// get returns nil for what is not known.
func (l *lowered) get(of source) *wire.Lowered {
	l.mu.Lock()
	defer l.mu.Unlock()
	e := l.known[of]
	if e == nil {
		return nil
	}
	l.order.MoveToFront(e)
	return &e.Value.(*keptLowered).made
}

// keep takes what a worker says, in JSON.
func (l *lowered) keep(of source, payload []byte) error {
	k := &keptLowered{of: of}
	if err := json.Unmarshal(payload, &k.made); err != nil {
		return err
	}
	if k.bytes() > wire.MaxLowered {
		return wire.ErrFrame
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known[of] != nil { // another worker said so meanwhile
		return nil
	}
	l.known[of] = l.order.PushFront(k)
	for l.bytes += k.bytes(); l.bytes > loweredBytes; {
		last := l.order.Remove(l.order.Back()).(*keptLowered)
		delete(l.known, last.of)
		l.bytes -= last.bytes()
	}
	return nil
}

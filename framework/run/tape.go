package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"
)

// Position is where in a run a call stands: its number in the order of issue,
// and for nested calls the parent's position before it, as in "3.1".
type Position string

// nested reports whether it is of a call that another call made.
func (p Position) nested() bool { return strings.Contains(string(p), ".") }

// Tape keeps what is not deterministic, so that every attempt of a run sees the
// same: clock, random numbers, generated values, and the results of calls that
// no transaction covers.
type Tape interface {
	// Now is the run's time: the same in every attempt.
	Now() time.Time
	// Seed seeds the run's random numbers: the same in every attempt.
	Seed() uint64
	// Value returns what is recorded at a position and slot, or records what gen
	// makes. A gen that fails records nothing. On a thawed tape gen may be called and
	// what it makes be dropped: it tells the type of what is kept.
	Value(at Position, slot string, gen func() (any, error)) (any, error)
	// Occurrence counts, from 0, the different calls that attempts made at a position:
	// one that took another way makes another call there.
	Occurrence(at Position, digest [32]byte) int
	// Outside returns the recorded outcome of a call that no transaction covers;
	// ok is false if there is none for exactly this operation and input.
	Outside(at Position, digest [32]byte) (out json.RawMessage, err error, ok bool)
	// RecordOutside keeps such an outcome. Where it is more than the host may hold for
	// the run, it keeps and returns memory_exceeded in its place.
	RecordOutside(at Position, digest [32]byte, out json.RawMessage, err error) error
}

type memoryTape struct {
	now    time.Time
	seed   uint64
	thawed bool // it was on another run's way before

	account *account // of the run; nil is not counted

	mu      sync.Mutex
	values  map[string]any
	outside map[Position][]*outsideEntry
}

// attachAccount counts the tape's entries, those that it has already too, for a run.
func (t *memoryTape) attachAccount(c *account) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.account = c
	for key, v := range t.values {
		c.add(entryBytes + int64(len(key)) + sizeOf(v))
	}
	for _, entries := range t.outside {
		for _, e := range entries {
			c.add(entryBytes + int64(len(e.out)))
		}
	}
}

// take counts an entry that is about to be kept.
func (t *memoryTape) take(n int64) error {
	if t.account == nil {
		return nil
	}
	if f := t.account.take(entryBytes + n); f != nil {
		return f
	}
	return nil
}

// sizeOf is about how many bytes a generated value takes besides its entry.
func sizeOf(v any) int64 {
	switch v := v.(type) {
	case string:
		return int64(len(v))
	case []byte:
		return int64(len(v))
	case json.RawMessage:
		return int64(len(v))
	case *keptValue:
		return int64(len(v.JSON))
	}
	return 0
}

type outsideEntry struct {
	digest [32]byte
	ended  bool
	out    json.RawMessage
	err    error
}

// NewTape returns an empty tape in memory that starts now.
func NewTape() Tape {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return tapeAt(time.Now().UTC().Truncate(time.Millisecond), binary.LittleEndian.Uint64(b[:]))
}

// tapeAt returns an empty tape of a run that began in another process.
func tapeAt(now time.Time, seed uint64) Tape {
	return &memoryTape{now: now, seed: seed, values: map[string]any{}, outside: map[Position][]*outsideEntry{}}
}

func (t *memoryTape) Now() time.Time { return t.now }

func (t *memoryTape) Seed() uint64 { return t.seed }

func (t *memoryTape) Value(at Position, slot string, gen func() (any, error)) (any, error) {
	key := string(at) + "\x00" + slot
	t.mu.Lock()
	v, ok := t.values[key]
	t.mu.Unlock()
	written, thawed := v.(*keptValue)
	if ok && !thawed {
		return v, nil
	}
	v, err := gen()
	if err != nil {
		return nil, err
	}
	if thawed { // what is generated now only tells the type
		if v, err = written.like(v); err != nil {
			return nil, err
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	first, ok := t.values[key]
	if ok && first != any(written) {
		return first, nil
	}
	if !ok {
		if err := t.take(int64(len(key)) + sizeOf(v)); err != nil {
			return nil, err
		}
	}
	t.values[key] = v
	return v, nil
}

func (t *memoryTape) Occurrence(at Position, digest [32]byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, _ := t.entry(at, digest)
	return n
}

// entry returns the entry of a call, making it where it is missing. The caller holds
// the lock.
func (t *memoryTape) entry(at Position, digest [32]byte) (int, *outsideEntry) {
	for n, e := range t.outside[at] {
		if e.digest == digest {
			return n, e
		}
	}
	e := &outsideEntry{digest: digest}
	t.outside[at] = append(t.outside[at], e)
	return len(t.outside[at]) - 1, e
}

func (t *memoryTape) Outside(at Position, digest [32]byte) (json.RawMessage, error, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, e := t.entry(at, digest)
	return e.out, e.err, e.ended
}

func (t *memoryTape) RecordOutside(at Position, digest [32]byte, out json.RawMessage, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	refused := t.take(int64(len(out)))
	_, e := t.entry(at, digest)
	if e.ended, e.out, e.err = true, out, err; refused != nil {
		e.out, e.err = nil, refused
	}
	return refused
}

// valuesOf is a tape without the calls, and about how many bytes it takes as JSON.
func valuesOf(t Tape) (Tape, int) {
	m, ok := t.(*memoryTape)
	if !ok {
		return t, 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n := 0
	for key, v := range m.values {
		n += len(key) + int(sizeOf(v)) + frozenBytes
	}
	return &memoryTape{now: m.now, seed: m.seed, thawed: m.thawed, values: m.values, outside: map[Position][]*outsideEntry{}}, n
}

// frozenBytes is about what JSON adds to an entry of a tape.
const frozenBytes = 48

func callDigest(id string, input json.RawMessage) (out [32]byte) {
	h := sha256.New()
	_, _ = io.WriteString(h, id+"\x00") // a hash takes everything
	h.Write(input)
	h.Sum(out[:0])
	return out
}

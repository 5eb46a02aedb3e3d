package run

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"sync"
	"time"
)

// Position is where in a run a call stands: its number in the order of issue,
// and for nested calls the parent's position before it, as in "3.1".
type Position string

// Tape keeps what is not deterministic, so that every attempt of a run sees the
// same: clock, random numbers, generated values, and the results of calls that
// no transaction covers.
type Tape interface {
	// Now is the run's time: the same in every attempt.
	Now() time.Time
	// Seed seeds the run's random numbers: the same in every attempt.
	Seed() uint64
	// Value gives what is recorded at a position and slot, or records what gen
	// makes. A gen that fails records nothing. On a thawed tape gen may be called and
	// what it makes be dropped: it tells the type of what is kept.
	Value(at Position, slot string, gen func() (any, error)) (any, error)
	// Occurrence counts, from 0, the different calls that attempts made at a position:
	// one that took another way makes another call there.
	Occurrence(at Position, digest [32]byte) int
	// Outside gives the recorded outcome of a call that no transaction covers;
	// ok is false if there is none for exactly this operation and input.
	Outside(at Position, digest [32]byte) (out json.RawMessage, err error, ok bool)
	// RecordOutside keeps such an outcome.
	RecordOutside(at Position, digest [32]byte, out json.RawMessage, err error)
}

type memoryTape struct {
	now    time.Time
	seed   uint64
	thawed bool // it was on another run's way before

	mu      sync.Mutex
	values  map[string]any
	outside map[Position][]*outsideEntry
}

type outsideEntry struct {
	digest [32]byte
	ended  bool
	out    json.RawMessage
	err    error
}

// NewTape gives an empty tape in memory that starts now.
func NewTape() Tape {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return tapeAt(time.Now().UTC().Truncate(time.Millisecond), binary.LittleEndian.Uint64(b[:]))
}

// tapeAt gives an empty tape of a run that began in another process.
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
	written, thawed := v.(*kept)
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
	if first, ok := t.values[key]; ok && first != any(written) {
		return first, nil
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

// entry gives the entry of a call, making it where it is missing. The caller holds
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

func (t *memoryTape) RecordOutside(at Position, digest [32]byte, out json.RawMessage, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, e := t.entry(at, digest)
	e.ended, e.out, e.err = true, out, err
}

func callDigest(id string, input json.RawMessage) [32]byte {
	return sha256.Sum256(append([]byte(id+"\x00"), input...))
}

// Package tape keeps what is not deterministic in a run, so that every attempt of it, an
// approved plan and a replay see the same: clock, random numbers, generated values, and
// the results of calls that no transaction covers.
//
// What belongs here: the tape, and its form as bytes. Not here: attempts, who makes
// calls, or where tapes are kept.
package tape

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	mathrand "math/rand/v2"
	"strings"
	"sync"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

// Position is where in a run a call stands: its number in the order of issue,
// and for nested calls the parent's position before it, as in "3.1".
type Position string

// Nested reports whether it is of a call that another call made.
func (p Position) Nested() bool { return strings.Contains(string(p), ".") }

// Tape is that of one run. It is safe for concurrent use.
type Tape struct {
	now    time.Time
	seed   uint64
	thawed bool // it was on another run's way before

	account Account // of the run; nil is not counted

	mu      sync.Mutex
	values  map[string]any
	outside map[Position][]*outsideEntry
}

// Account counts the bytes that a run makes the host hold. Take refuses more than may be
// held, and counts nothing then; Add counts what is there already.
type Account interface {
	Take(n int64) error
	Add(n int64)
}

// ErrUnfinished is what the error of a call is (errors.Is) that has to be made again: it is
// not frozen as the end of the call.
var ErrUnfinished = errors.New("tape: the call has not ended")

// entryBytes is what the host keeps for one entry besides what is recorded.
const entryBytes = 160

// Count counts the tape's entries, those that it has already too, for a run.
func (t *Tape) Count(c Account) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.account = c
	for key, v := range t.values {
		c.Add(entryBytes + int64(len(key)) + sizeOf(v))
	}
	for _, entries := range t.outside {
		for _, e := range entries {
			c.Add(entryBytes + int64(len(e.out)))
		}
	}
}

// take counts an entry that is about to be kept.
func (t *Tape) take(n int64) error {
	if t.account == nil {
		return nil
	}
	return t.account.Take(entryBytes + n)
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

// New returns an empty tape of a run that starts now.
func New(now time.Time) *Tape {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return At(now.UTC().Truncate(time.Millisecond), binary.LittleEndian.Uint64(b[:]))
}

// At returns an empty tape of a run that began in another process.
func At(now time.Time, seed uint64) *Tape {
	return &Tape{now: now, seed: seed, values: map[string]any{}, outside: map[Position][]*outsideEntry{}}
}

// Now is the run's time: the same in every attempt.
func (t *Tape) Now() time.Time { return t.now }

// Seed seeds the run's random numbers: the same in every attempt.
func (t *Tape) Seed() uint64 { return t.seed }

// SeedAt seeds the random numbers of the call at a position: the same in every attempt, and different
// for each call.
func (t *Tape) SeedAt(at Position) uint64 {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(at) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return mathrand.NewPCG(t.seed, h).Uint64()
}

// Clock returns the time of a clock when it was first asked at a position and slot, in milliseconds
// since 1970. Later attempts get the same.
func (t *Tape) Clock(at Position, slot string, clock func() time.Time) (int64, error) {
	v, err := t.Value(at, slot, func() (any, error) { return clock().UnixMilli(), nil })
	if err != nil {
		return 0, err
	}
	ms, ok := v.(int64)
	if !ok {
		return 0, fault.Newf(fault.Internal, "the tape holds a time of type %T", v)
	}
	return ms, nil
}

// Value returns what is recorded at a position and slot, or records what gen
// makes. A gen that fails records nothing. On a thawed tape gen may be called and
// what it makes be dropped: it tells the type of what is kept.
func (t *Tape) Value(at Position, slot string, gen func() (any, error)) (any, error) {
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

// Occurrence counts, from 0, the different calls that attempts made at a position:
// one that took another way makes another call there.
func (t *Tape) Occurrence(at Position, digest [32]byte) int {
	t.mu.Lock()
	defer t.mu.Unlock()
	n, _ := t.entry(at, digest)
	return n
}

// entry returns the entry of a call, making it where it is missing. The caller holds
// the lock.
func (t *Tape) entry(at Position, digest [32]byte) (int, *outsideEntry) {
	for n, e := range t.outside[at] {
		if e.digest == digest {
			return n, e
		}
	}
	e := &outsideEntry{digest: digest}
	t.outside[at] = append(t.outside[at], e)
	return len(t.outside[at]) - 1, e
}

// Outside returns the recorded outcome of a call that no transaction covers;
// ok is false if there is none for exactly this operation and input.
func (t *Tape) Outside(at Position, digest [32]byte) (json.RawMessage, error, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, e := t.entry(at, digest)
	return e.out, e.err, e.ended
}

// RecordOutside keeps such an outcome. Where it is more than the host may hold for
// the run, it keeps and returns memory_exceeded in its place.
func (t *Tape) RecordOutside(at Position, digest [32]byte, out json.RawMessage, err error) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	refused := t.take(int64(len(out)))
	_, e := t.entry(at, digest)
	if e.ended, e.out, e.err = true, out, err; refused != nil {
		e.out, e.err = nil, refused
	}
	return refused
}

// Thawed reports whether another attempt or process may have left something on the tape.
func (t *Tape) Thawed() bool { return t.thawed }

// Bytes is how many bytes the results on the tape take.
func (t *Tape) Bytes() (n int64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, v := range t.values {
		n += sizeOf(v)
	}
	for _, entries := range t.outside {
		for _, e := range entries {
			n += int64(len(e.out))
		}
	}
	return n
}

// Values is the tape without the calls, and about how many bytes it takes as JSON.
func (t *Tape) Values() (*Tape, int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := 0
	for key, v := range t.values {
		n += len(key) + int(sizeOf(v)) + frozenBytes
	}
	return &Tape{now: t.now, seed: t.seed, thawed: t.thawed, values: t.values, outside: map[Position][]*outsideEntry{}}, n
}

// frozenBytes is about what JSON adds to an entry of a tape.
const frozenBytes = 48

// Digest is that of a call: of its operation and its input.
func Digest(id string, input json.RawMessage) (out [32]byte) {
	h := sha256.New()
	_, _ = io.WriteString(h, id+"\x00") // a hash takes everything
	h.Write(input)
	h.Sum(out[:0])
	return out
}

// ParseDigest reads a digest that is written in hex.
func ParseDigest(text string) (out [32]byte, err error) {
	raw, err := hex.DecodeString(text)
	if err == nil && len(raw) != len(out) {
		err = errors.New("tape: this is not the digest of a call")
	}
	copy(out[:], raw)
	return out, err
}

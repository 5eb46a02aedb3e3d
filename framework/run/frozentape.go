package run

import (
	"bytes"
	"cmp"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/koan-go/koan/framework/fault"
)

const (
	// tapeVersion is the version of Freeze's format.
	tapeVersion = 1
	// MaxTapeBytes bounds a frozen tape.
	MaxTapeBytes = 64 << 20
	// maxPosition bounds a position on a frozen tape, in bytes.
	maxPosition = 256
)

// ErrTape is what Thaw ends in (wrapped) where the bytes are no tape, or one that a
// later build has made.
var ErrTape = errors.New("run: this is not a recorded tape")

// frozen is a tape as bytes: JSON, in an order that depends on what is on the tape
// alone.
type frozen struct {
	Version int             `json:"version"`
	Now     time.Time       `json:"now"`
	Seed    uint64          `json:"seed,string"`
	Values  []frozenValue   `json:"values"`
	Outside []frozenOutside `json:"outside"`
}

type frozenValue struct {
	At   Position `json:"at"`
	Slot string   `json:"slot"`
	keptValue
}

// frozenOutside is a call that no transaction covers. Those of one position stand in
// the order of their occurrence. One that has not ended keeps its place only.
type frozenOutside struct {
	At     Position        `json:"at"`
	Digest string          `json:"digest"` // hex
	Ended  bool            `json:"ended,omitempty"`
	Output json.RawMessage `json:"output,omitempty"`
	Fault  json.RawMessage `json:"fault,omitempty"`
}

// Freeze returns a tape as bytes, from which Thaw makes one that returns the same to a
// run that goes the same way: clock, seed, generated values, results and faults of
// outside calls, the order of deliveries. It ends in result_too_large above
// MaxTapeBytes, and in capability_unsupported where a value's type cannot be kept.
func Freeze(t Tape) ([]byte, error) {
	return freeze(t, true)
}

// freezeValues is Freeze without the calls.
func freezeValues(t Tape) ([]byte, error) { return freeze(t, false) }

func freeze(t Tape, calls bool) ([]byte, error) {
	m, ok := t.(*memoryTape)
	if !ok {
		return nil, fault.New(fault.Internal, "").Because(fmt.Errorf("run: a tape of type %T cannot be kept", t))
	}
	f, err := m.freeze()
	if err != nil {
		return nil, err
	}
	if !calls {
		f.Outside = []frozenOutside{}
	}
	b, err := encodeJSON(f)
	if err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	if len(b) > MaxTapeBytes {
		return nil, fault.Newf(fault.ResultTooLarge, "the recording of the run takes %d bytes, at most %d are allowed", len(b), MaxTapeBytes)
	}
	return b, nil
}

// tapeBytes is how many bytes the results on a tape take.
func tapeBytes(t Tape) (n int64) {
	m, ok := t.(*memoryTape)
	if !ok {
		return 0
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, v := range m.values {
		n += sizeOf(v)
	}
	for _, entries := range m.outside {
		for _, e := range entries {
			n += int64(len(e.out))
		}
	}
	return n
}

func (t *memoryTape) freeze() (*frozen, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &frozen{Version: tapeVersion, Now: t.now, Seed: t.seed, Values: []frozenValue{}, Outside: []frozenOutside{}}
	for key, v := range t.values {
		at, slot, _ := strings.Cut(key, "\x00")
		k, ok := v.(*keptValue)
		if !ok {
			var err error
			if k, err = encodeValue(v); err != nil {
				return nil, fault.Newf(fault.CapabilityUnsupported, "the value generated for %s cannot be recorded", slot).
					WithHint("Give the type %T a JSON form, or Value and Scan, from which all of it comes back.", v).Because(err)
			}
		}
		f.Values = append(f.Values, frozenValue{At: Position(at), Slot: slot, keptValue: *k})
	}
	slices.SortFunc(f.Values, func(a, b frozenValue) int { return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Slot, b.Slot)) })
	for at, entries := range t.outside {
		for _, e := range entries {
			o := frozenOutside{At: at, Digest: hex.EncodeToString(e.digest[:]), Ended: e.ended && !isRestart(e.err), Output: e.out}
			if o.Ended && e.err != nil {
				var err error
				if o.Fault, err = json.Marshal(fault.From(e.err)); err != nil {
					return nil, fault.New(fault.Internal, "").Because(err)
				}
			}
			if !o.Ended {
				o.Output = nil
			}
			f.Outside = append(f.Outside, o)
		}
	}
	slices.SortStableFunc(f.Outside, func(a, b frozenOutside) int { return cmp.Compare(a.At, b.At) })
	return f, nil
}

// Thaw returns the tape that Freeze was given. The error wraps ErrTape.
func Thaw(b []byte) (Tape, error) {
	if len(b) > MaxTapeBytes {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrTape, len(b))
	}
	var f frozen
	if err := decodeWhole(b, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrTape, err)
	}
	if f.Version != tapeVersion {
		return nil, fmt.Errorf("%w: its version is %d, this build knows %d", ErrTape, f.Version, tapeVersion)
	}
	t := tapeAt(f.Now, f.Seed).(*memoryTape)
	t.thawed = true
	for _, v := range f.Values {
		if err := t.thawValue(v); err != nil {
			return nil, fmt.Errorf("%w: the value %q at %q: %w", ErrTape, v.Slot, v.At, err)
		}
	}
	for _, o := range f.Outside {
		if err := t.thawOutside(o); err != nil {
			return nil, fmt.Errorf("%w: the call at %q: %w", ErrTape, o.At, err)
		}
	}
	return t, nil
}

// decodeWhole decodes JSON that must be all of b and have no member that v lacks.
func decodeWhole(b []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("something follows it")
	}
	return nil
}

// Fresh reports whether nothing can be on the tape that another attempt has left there.
func (a *Attempt) Fresh() bool {
	m, ok := a.run.tape.(*memoryTape)
	return a.number == 1 && ok && !m.thawed
}

func (t *memoryTape) thawValue(v frozenValue) error {
	if err := v.At.check(); err != nil {
		return err
	}
	if strings.ContainsRune(v.Slot, 0) {
		return errors.New("the slot is not valid")
	}
	key := string(v.At) + "\x00" + v.Slot
	if _, twice := t.values[key]; twice {
		return errors.New("it appears twice")
	}
	plain, ok, err := v.plain()
	switch {
	case err != nil:
		return err
	case ok:
		t.values[key] = plain
	default:
		t.values[key] = &v.keptValue
	}
	return nil
}

func (t *memoryTape) thawOutside(o frozenOutside) error {
	if err := o.At.check(); err != nil {
		return err
	}
	digest, err := Intent{Digest: o.Digest}.digest()
	if err != nil {
		return err
	}
	n := len(t.outside[o.At])
	at, e := t.entry(o.At, digest)
	if at < n {
		return errors.New("it appears twice")
	}
	if !o.Ended && (o.Output != nil || o.Fault != nil) {
		return errors.New("it has a result but has not ended")
	}
	e.ended, e.out = o.Ended, o.Output
	if o.Fault != nil {
		f, err := fault.Decode(o.Fault)
		if err != nil {
			return err
		}
		e.err = f
	}
	return nil
}

// check reports whether a position is one: numbers from 0, joined by dots, or "" for
// what belongs to no call.
func (p Position) check() error {
	if len(p) > maxPosition {
		return errors.New("its position is too long")
	}
	if p == "" {
		return nil
	}
	for part := range strings.SplitSeq(string(p), ".") {
		if part == "" || strings.Trim(part, "0123456789") != "" {
			return errors.New("its position is not valid")
		}
	}
	return nil
}

package tape

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
	// version is that of Freeze's format.
	version = 1
	// MaxBytes bounds a frozen tape.
	MaxBytes = 64 << 20
	// maxPosition bounds a position on a frozen tape, in bytes.
	maxPosition = 256
)

// ErrFormat is what Thaw ends in (wrapped) where the bytes are not a tape, or one that a
// later build has made.
var ErrFormat = errors.New("tape: this is not a recorded tape")

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

// Freeze returns the tape as bytes, from which Thaw makes one that returns the same to a
// run that goes the same way: clock, seed, generated values, results and faults of
// outside calls, the order of deliveries. It ends in result_too_large above
// MaxBytes, and in capability_unsupported where a value's type cannot be kept.
func (t *Tape) Freeze() ([]byte, error) { return t.encode(true) }

// FreezeValues is Freeze without the calls.
func (t *Tape) FreezeValues() ([]byte, error) { return t.encode(false) }

func (t *Tape) encode(calls bool) ([]byte, error) {
	f, err := t.freeze()
	if err != nil {
		return nil, err
	}
	if !calls {
		f.Outside = []frozenOutside{}
	}
	b, err := Marshal(f)
	if err != nil {
		return nil, fault.New(fault.Internal, "").Because(err)
	}
	if len(b) > MaxBytes {
		return nil, fault.Newf(fault.ResultTooLarge, "the recording of the run takes %d bytes, at most %d are allowed", len(b), MaxBytes)
	}
	return b, nil
}

func (t *Tape) freeze() (*frozen, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	f := &frozen{Version: version, Now: t.now, Seed: t.seed, Values: []frozenValue{}, Outside: []frozenOutside{}}
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
			o := frozenOutside{At: at, Digest: hex.EncodeToString(e.digest[:]), Ended: e.ended && !errors.Is(e.err, ErrUnfinished), Output: e.out}
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

// Thaw returns the tape of which Freeze made the bytes. The error wraps ErrFormat.
func Thaw(b []byte) (*Tape, error) {
	if len(b) > MaxBytes {
		return nil, fmt.Errorf("%w: it has %d bytes", ErrFormat, len(b))
	}
	var f frozen
	if err := Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrFormat, err)
	}
	if f.Version != version {
		return nil, fmt.Errorf("%w: its version is %d, this build knows %d", ErrFormat, f.Version, version)
	}
	t := At(f.Now, f.Seed)
	t.thawed = true
	for _, v := range f.Values {
		if err := t.thawValue(v); err != nil {
			return nil, fmt.Errorf("%w: the value %q at %q: %w", ErrFormat, v.Slot, v.At, err)
		}
	}
	for _, o := range f.Outside {
		if err := t.thawOutside(o); err != nil {
			return nil, fmt.Errorf("%w: the call at %q: %w", ErrFormat, o.At, err)
		}
	}
	return t, nil
}

// Unmarshal decodes JSON that must be all of b and have no member that v lacks.
func Unmarshal(b []byte, v any) error {
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

func (t *Tape) thawValue(v frozenValue) error {
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

func (t *Tape) thawOutside(o frozenOutside) error {
	if err := o.At.check(); err != nil {
		return err
	}
	digest, err := ParseDigest(o.Digest)
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

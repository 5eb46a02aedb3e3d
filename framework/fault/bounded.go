package fault

import (
	"encoding/json"
)

// How much of a fault that another process sent is passed on, in bytes. The details count
// as JSON.
const (
	maxMessage      = 16 << 10
	maxText         = 4 << 10 // of hint, path and source
	maxCode         = 100     // of a code that is not in the registry
	maxDetailsBytes = 128 << 10
)

// MaxBytes is the longest JSON of a fault of Bounded, however much of its texts is
// escaped.
const MaxBytes = 6*(maxMessage+3*maxText) + maxDetailsBytes + 1<<10

// Bounded returns the fault with its texts cut to what may be passed on, and without
// details that are larger.
func (f *Fault) Bounded() *Fault {
	b := *f
	b.Message = ClipTo(f.Message, maxMessage)
	for _, text := range []*string{&b.Hint, &b.Path, &b.Source} {
		*text = ClipTo(*text, maxText)
	}
	if f.Details != nil {
		if raw, err := json.Marshal(f.Details); err != nil || len(raw) > maxDetailsBytes {
			b.Details = nil
		}
	}
	return &b
}

// decodeWithoutDetails reads a fault that is longer than MaxBytes, without its details,
// which can take fifty times their text once they are decoded.
func decodeWithoutDetails(raw json.RawMessage) (*Fault, error) {
	var f struct {
		Fault
		Ignored ignored `json:"details"`
	}
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, err
	}
	return f.Fault.Bounded(), nil
}

// ignored is a value that is not decoded.
type ignored struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (ignored) UnmarshalJSON([]byte) error { return nil }

package codemode

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"unicode"
	"unicode/utf8"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
)

// idempotencyKey is the member of that name.
func idempotencyKey() member {
	m := text("idempotencyKey", "")
	m.mayBeEmpty = true
	m.check = func(v any) (string, string) {
		key, ok := v.(string)
		switch {
		case !ok:
			return "must be a string", "string"
		case key == "", utf8.RuneCountInString(key) > maxName:
			return "must have 1 to " + strconv.Itoa(maxName) + " characters", "string"
		case bytes.ContainsFunc([]byte(key), unicode.IsControl):
			return "must have no control characters", "string"
		}
		return "", ""
	}
	return m
}

// once makes the run claim its key. A repetition may only differ in inputs that affect
// neither the script nor its result: limits, correlationId.
func (e *execution) once() error {
	if e.in.IdempotencyKey == "" {
		return nil
	}
	if e.in.DryRun {
		e.notes = append(e.notes, wire.Log{Level: "warn", Message: "a dry run ignores idempotencyKey: it runs each time, and the key stays unused"})
		return nil
	}
	print, err := e.fingerprint()
	if err != nil {
		return fault.New(fault.Internal, "").Because(err)
	}
	e.spec.IdempotencyKey, e.spec.Fingerprint = e.in.IdempotencyKey, print
	return nil
}

// fingerprint is the digest of all inputs that affect what the run does and returns. Equal
// JSON has equal fingerprints, however it is written.
func (e *scriptRequest) fingerprint() (string, error) {
	var args json.RawMessage
	if len(e.in.Args) > 0 {
		var err error
		if args, err = exact.Canonical(e.in.Args); err != nil {
			return "", err
		}
	}
	only, include := slices.Clone(e.in.Only), slices.Clone(e.in.Include)
	slices.Sort(only)
	slices.Sort(include)
	b, err := wire.Marshal([]any{
		e.in.Code, len(e.in.Args) > 0, args, e.in.Set, e.in.Language, e.in.EntryFunction, e.spec.Atomic, e.in.Only == nil, only, slices.Compact(include),
	})
	return journal.Digest(b), err
}

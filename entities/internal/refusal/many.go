package refusal

import (
	"errors"
	"slices"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// OfItem returns the fault of one item of many, nil where an error is about more.
func OfItem(err error) *fault.Fault {
	var f *fault.Fault
	if !errors.As(err, &f) {
		return nil
	}
	switch f.Code {
	case fault.InvalidPayload, fault.Conflict, fault.NotFound, fault.Forbidden:
		return f
	default:
		return nil
	}
}

// Join joins the faults of many items into one, with the code that they share.
func Join(all []*fault.Fault) *fault.Fault {
	if len(all) == 1 {
		return all[0]
	}
	var details []fault.Detail
	code := all[0].Code
	for _, f := range all {
		if f.Code != code {
			code = fault.InvalidPayload
		}
		if several, ok := f.Details.([]fault.Detail); ok {
			details = append(details, several...)
			continue
		}
		details = append(details, fault.Detail{Path: f.Path, Message: f.Message})
	}
	out := fault.Invalid(details...)
	if code != fault.InvalidPayload {
		out = fault.New(code, out.Message).WithDetails(out.Details).WithRetry(all[0].Retry).WithHint("%s", all[0].Hint)
	}
	if slices.ContainsFunc(all, (*fault.Fault).IsByRule) {
		out = out.ByRule().WithHint("A rule of the app refused; each message says why.")
	}
	return out.Because(all[0])
}

// IsRefused reports whether an error means that the database refused what was to be
// stored.
func (t *Faults) IsRefused(err error) bool {
	var v *database.Violation
	if v = t.Backend.Violation(err); v != nil {
		return true
	}
	if errors.Is(err, store.ErrStale) || t.SQL.Stale(err) {
		return false
	}
	known, _ := t.Backend.Trouble(t.Set, err)
	return OfItem(known) != nil
}

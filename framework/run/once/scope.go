package once

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
)

// scope is what keys are unique in, beside their holder: those of calls of one operation are one's
// for all operations, so that no call is made under the key of another; those of code operations,
// which come in another way, are apart.
func scope(r *run.Run) string {
	if isCode(r) {
		return r.Operation().ID.String()
	}
	return "call"
}

func isCode(r *run.Run) bool { return r.Operation().ID.Kind == catalog.KindCode }

// conflict is the fault of a call under the key of another one.
func conflict(r *run.Run) *fault.Fault {
	message, hint := "this idempotency key belongs to another call: to another operation, another input, another precondition or other rights", "Send what was sent first, or use a new key for a new job."
	if isCode(r) {
		message, hint = "this idempotency key belongs to a different script, different inputs or different rights", "Send the original script, or use a new key for a new job."
	}
	return fault.New(fault.Conflict, message).WithRetry(fault.Fix).WithHint("%s", hint).WithPath("/idempotencyKey")
}

// fingerprint is what runs under one key have in common: all that decides what they do, and the
// rights with which they do it.
func fingerprint(r *run.Run) string {
	spec, print := r.Spec(), r.Spec().Fingerprint
	if !isCode(r) && spec.IdempotencyKey != "" {
		print = r.Operation().ID.String() + "\x00" + callInput(r.Operation(), spec.Set, print)
	}
	return journal.Digest([]byte(spec.Set + "\x00" + print + "\x00" + r.Principal().Key()))
}

// callInput is the input of a call in the one form that its JSON has, be the default set named or not.
func callInput(op *catalog.Operation, set, input string) string {
	raw := []byte(input)
	var members map[string]json.RawMessage
	if op.Resource != "" && json.Unmarshal(raw, &members) == nil {
		var named string
		if json.Unmarshal(members["set"], &named) == nil && named == set {
			delete(members, "set")
			raw, _ = json.Marshal(members) // parts of what was JSON
		}
	}
	canonical, err := exact.Canonical(raw)
	if err != nil { // a call of what is not JSON is rejected when it is made
		return input
	}
	return string(canonical)
}

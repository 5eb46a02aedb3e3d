package store

import (
	"crypto/sha256"
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/framework/journal"
)

// Action is what happened to an entity.
type Action string

const (
	Create Action = "create"
	Update Action = "update"
	Delete Action = "delete"
)

// Change is one entity that a run changed (CONTRACT section 2).
type Change struct {
	Entity string          `json:"entity"` // "" of one that the caller may not know of
	Set    string          `json:"set"`
	ID     string          `json:"id,omitempty"` // "" of a row that the caller may not see
	Action Action          `json:"action"`
	Before json.RawMessage `json:"before,omitempty"`
	After  json.RawMessage `json:"after,omitempty"`
	// Hidden says that the caller may not know of the entity: see Disclosed.
	Hidden bool `json:"hidden,omitempty"`
}

// Disclosed returns changes as their caller may hear of them: those of an entity that
// it may not know of are there without its name, so that the counts are whole.
func Disclosed(changes []Change) []Change { return renameHidden(changes, "") }

// HiddenEntity stands for an entity that the reader may not know of, for people.
const HiddenEntity = "(an entity that is not shown)"

// Named returns changes as people read of them: with HiddenEntity for a name that the
// caller may not know.
func Named(changes []Change) []Change { return renameHidden(changes, HiddenEntity) }

// renameHidden renames what is hidden.
func renameHidden(changes []Change, name string) []Change {
	if !slices.ContainsFunc(changes, func(c Change) bool { return c.Hidden }) {
		return changes
	}
	out := slices.Clone(changes)
	for i := range out {
		if out[i].Hidden {
			out[i].Entity, out[i].Hidden = name, false
		}
	}
	return out
}

// ChangeCount sums the changes of one entity in one set.
type ChangeCount struct {
	Entity  string `json:"entity"`
	Set     string `json:"set"`
	Created int    `json:"created"`
	Updated int    `json:"updated"`
	Deleted int    `json:"deleted"`
}

// Counts sums changes by entity and set, in the order of first appearance.
func Counts(changes []Change) []ChangeCount {
	out := []ChangeCount{}
	at := map[[2]string]int{}
	for _, c := range changes {
		key := [2]string{c.Entity, c.Set}
		i, ok := at[key]
		if !ok {
			i = len(out)
			at[key] = i
			out = append(out, ChangeCount{Entity: c.Entity, Set: c.Set})
		}
		switch c.Action {
		case Create:
			out[i].Created++
		case Update:
			out[i].Updated++
		case Delete:
			out[i].Deleted++
		}
	}
	return out
}

// digest returns the digest of changes as json.Marshal writes them, of which no more than
// one stands in memory.
func digest(changes []Change) (string, error) {
	if changes == nil {
		return journal.Digest([]byte("null")), nil
	}
	h := sha256.New()
	for i := range changes {
		raw, err := json.Marshal(&changes[i])
		if err != nil {
			return "", err
		}
		h.Write([]byte{"[,"[min(i, 1)]})
		h.Write(raw)
	}
	if len(changes) == 0 {
		h.Write([]byte{'['})
	}
	h.Write([]byte{']'})
	return journal.DigestText(h.Sum(nil)), nil
}

// DigestCache makes digests of changes and keeps the last one: changes with before and after
// take long to write.
type DigestCache struct {
	changes []Change
	digest  string
}

// Digest returns the digest of changes as JSON, "" where they cannot be written.
func (d *DigestCache) Digest(changes []Change) string {
	if len(changes) > 0 && len(d.changes) == len(changes) && &d.changes[0] == &changes[0] {
		return d.digest
	}
	made, err := digest(changes)
	if err != nil {
		return ""
	}
	d.changes, d.digest = changes, made
	return made
}

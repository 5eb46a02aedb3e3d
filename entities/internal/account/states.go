package account

import (
	"encoding/json"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run/store"
)

// RowState is what the journal keeps of a row that a run changed: of one that it updated the
// columns that differ, else all of them. It has two parts, the second of which has the values
// that nobody may read.
type RowState struct {
	Before map[string]Held `json:"before,omitempty"`
	After  map[string]Held `json:"after,omitempty"`
	Links  []LinkState     `json:"links,omitempty"`
}

// LinkState is which links of a row a run made and took away, by the ids at the other side.
type LinkState struct {
	Table string   `json:"table"`
	Own   string   `json:"own"` // columns
	Other string   `json:"other"`
	Added []string `json:"added,omitempty"`
	Gone  []string `json:"gone,omitempty"`
}

// StateOf returns the whole row before and after a change.
func StateOf(image *journal.Image) (RowState, error) {
	s, err := joinParts(image)
	if err != nil {
		return s, fault.New(fault.ServiceUnavailable, "the change log has a commit in a form that cannot be read").Because(err)
	}
	if image.Action == string(store.Update) { // what is the same stands after it alone
		s.Before = merge(merge(nil, s.After), s.Before)
	}
	return s, nil
}

// JoinStates joins the images of a row, the oldest first, into what it was before all of them and after.
func JoinStates(images []journal.Image) (out RowState, err error) {
	for i := range images {
		s, err := joinParts(&images[i])
		if err != nil {
			return out, fault.New(fault.ServiceUnavailable, "the journal has the run in a form that cannot be read").Because(err)
		}
		out.Before, out.After = merge(s.Before, out.Before), merge(out.After, s.After)
		out.Links = append(out.Links, s.Links...)
	}
	return out, nil
}

// joinParts joins what an image has for everybody with what nobody may read.
func joinParts(image *journal.Image) (s RowState, err error) {
	for _, part := range []json.RawMessage{image.State, image.Secret} {
		var one RowState
		if part == nil {
			continue
		}
		if err := json.Unmarshal(part, &one); err != nil {
			return s, err
		}
		s.Before, s.After = merge(s.Before, one.Before), merge(s.After, one.After)
		s.Links = append(s.Links, one.Links...)
	}
	return s, nil
}

// merge adds columns to others, in whose place they come.
func merge(to, more map[string]Held) map[string]Held {
	if to == nil {
		to = make(map[string]Held, len(more))
	}
	for column, v := range more {
		to[column] = v
	}
	return to
}

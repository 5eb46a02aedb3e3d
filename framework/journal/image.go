package journal

import "encoding/json"

// Image is what a run did to one row of a table, as an undo needs it: what the row was before
// the run and what it was after it, whatever the run's caller may read of that.
type Image struct {
	Entity string `json:"entity"` // "" of rows that belong to no entity, which nothing restores
	Set    string `json:"set"`
	ID     string `json:"id,omitempty"`
	Action string `json:"action"` // "create", "update", "delete"
	// State is in the form of the store that made it, and has the values that somebody may
	// read. Secret has the others, in the same form, and is sealed where it is kept; nil is
	// that there are none.
	State  json.RawMessage `json:"state,omitempty"`
	Secret json.RawMessage `json:"secret,omitempty"`
}

// Size is about how many bytes the image takes.
func (i *Image) Size() int {
	return 128 + len(i.Entity) + len(i.Set) + len(i.ID) + len(i.State) + len(i.Secret)
}

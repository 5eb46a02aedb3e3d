package worker

import (
	"bytes"
	"encoding/json"
	"strings"
	"weak"

	"github.com/dop251/goja"
)

// partials are the arrays of related rows that a script read with a limit or a filter, so that
// there may be more, and the ids of the rows that they were read with. Written back to those rows
// they would unlink the others.
type partials map[weak.Pointer[goja.Object]]goja.Value

// relation is what a read asks of a relationship, as far as it decides which rows it returns.
type relation struct {
	Limit  int64           `json:"limit"`
	Filter json.RawMessage `json:"filter"`
	With   json.RawMessage `json:"with"`
}

// filters reports whether the filter has a condition.
func (r relation) filters() bool { return len(r.Filter) > len("{}") && string(r.Filter) != "null" }

const partialHint = "Leave the member out, read it without limit and filter, or write an array of your own that has all of them, such as [...x]."

// notePartials remembers the partial relationships in the output of an entity's operation.
func (s *session) notePartials(id string, in []byte, out goja.Value) {
	if !strings.HasSuffix(id, pageOp) && !strings.HasSuffix(id, ".get-by-id") || !bytes.Contains(in, []byte(`"with":{`)) {
		return
	}
	var asked struct {
		With json.RawMessage `json:"with"`
	}
	if json.Unmarshal(in, &asked) != nil {
		return
	}
	rows := []goja.Value{out}
	if strings.HasSuffix(id, pageOp) {
		rows = s.elements(s.member(out, "items"))
	}
	s.noteRelations(rows, asked.With)
}

// noteRelations does so for rows that were read with relationships. A text or a list of names
// asks for all rows of each.
func (s *session) noteRelations(rows []goja.Value, with json.RawMessage) {
	var edges map[string]json.RawMessage
	if json.Unmarshal(with, &edges) != nil {
		return
	}
	for name, raw := range edges {
		var r relation
		if json.Unmarshal(raw, &r) != nil { // true
			continue
		}
		for _, row := range rows {
			related := s.member(row, name)
			items := s.elements(related)
			if items == nil {
				s.noteRelations([]goja.Value{related}, r.With)
				continue
			}
			if r.filters() || r.Limit > 0 && int64(len(items)) >= r.Limit {
				s.partials[weak.Make(related.(*goja.Object))] = s.member(row, "id")
			}
			s.noteRelations(items, r.With)
		}
	}
}

// unlinks reports whether a member of an input is such an array, and would take the place of all
// related rows. For another row it is as good as any array; changes do not say whose they are.
func (s *session) unlinks(holder goja.Value, key string, v goja.Value) bool {
	o, ok := v.(*goja.Object)
	if !ok || len(s.partials) == 0 || !s.check.entity || key == "$add" || key == "$remove" {
		return false
	}
	of, partial := s.partials[weak.Make(o)]
	switch s.check.at {
	case "/changes":
		return partial
	case "/model", "/models":
		return partial && s.member(holder, "id").StrictEquals(of)
	}
	return false
}

package changes

import (
	"slices"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/run/store"
)

// Net is the sum of all writes to one row.
type Net struct {
	Row
	Native    any
	Was, Is   bool // whether there is a row
	Links     []*model.Edge
	From, To  []byte // as the caller may see them
	Forbidden bool   // the caller may see it neither before nor after
}

// Action returns what happened to the row.
func (n *Net) Action() store.Action { return actionOf(n.Was, n.Is) }

// Net joins the writes to each row, in the order of the first ones.
func (l *Log) Net() []*Net {
	out := make([]*Net, 0, len(l.writes))
	at := make(map[Row]*Net, len(l.writes))
	for i := range l.writes {
		w := &l.writes[i]
		if w.Void {
			continue
		}
		key := RowOf(w.Kind, w.ID)
		n := at[key]
		if n == nil {
			was := w.Action != store.Create
			n = &Net{Row: key, Native: w.ID, Was: was, Is: was}
			at[key] = n
			out = append(out, n)
		}
		n.Is = exists(w.Action, n.Is)
		for _, e := range w.Links {
			if !slices.Contains(n.Links, e) {
				n.Links = append(n.Links, e)
			}
		}
	}
	return out
}

// Count is Net for a run that does not record: there may be many changes, so it keeps
// nothing of a row but what is reported. hidden reports of which kinds the caller may not
// hear.
func (l *Log) Count(set string, hidden func(*model.Kind) bool) []store.Change {
	type fate struct{ was, is bool } // whether there is a row
	at := make(map[Row]int32, len(l.writes))
	out, fates := make([]store.Change, 0, len(l.writes)), make([]fate, 0, len(l.writes))
	for i := range l.writes {
		w := &l.writes[i]
		if w.Void {
			continue
		}
		key := RowOf(w.Kind, w.ID)
		j, known := at[key]
		if !known {
			j = int32(len(out))
			at[key] = j
			was := w.Action != store.Create
			out, fates = append(out, store.Change{Entity: w.Kind.Name(), Set: set, ID: key.ID, Hidden: hidden(w.Kind)}), append(fates, fate{was, was})
		}
		fates[j].is = exists(w.Action, fates[j].is)
	}
	kept := out[:0]
	for j, f := range fates {
		if f.was || f.is {
			out[j].Action = actionOf(f.was, f.is)
			kept = append(kept, out[j])
		}
	}
	return kept
}

// exists reports whether there is a row after a write.
func exists(action store.Action, before bool) bool {
	switch action {
	case store.Create:
		return true
	case store.Delete:
		return false
	}
	return before
}

// actionOf returns what happened to a row, given whether it existed before and exists
// now.
func actionOf(was, is bool) store.Action {
	switch {
	case !was:
		return store.Create
	case !is:
		return store.Delete
	}
	return store.Update
}

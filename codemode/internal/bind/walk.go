package bind

const (
	// MaxAll is how many rows all() returns at most (CONTRACT section 3).
	MaxAll = 10_000
	// WalkPageSize is the page size of methods that walk, unless the script gives another.
	WalkPageSize = 200
)

// Walk goes through the pages of a collection. It uses cursors, so that rows which the script
// inserts or deletes meanwhile do not shift pages, or page numbers if the store has no cursors.
type Walk struct {
	// Counts asks for the number of all rows with the first page.
	Counts bool

	page   int64
	cursor string // "" for none
	total  int64
	done   bool
}

// Given are the options that a script has given itself.
type Given struct{ Cursor, PageSize, Count bool }

// Next returns the members that the input of the next call has besides the script's options, and the option that they
// replace, "" for none.
func (w *Walk) Next(g Given) (members []Member, without string) {
	w.page++
	switch {
	case w.cursor != "":
		members, without = append(members, Member{"cursor", w.cursor}), "cursor"
	case !g.Cursor: // else the script continues after a page that it has
		members = append(members, Member{"page", w.page})
	}
	if !g.PageSize {
		members = append(members, Member{"pageSize", WalkPageSize})
	}
	if !g.Count {
		members = append(members, Member{"count", w.Counts && w.page == 1})
	}
	return members, without
}

// Page is what a call of a walk returned.
type Page struct {
	Items, Size int64  // how many rows there are, and how many were asked for
	Cursor      string // nextCursor; "" if it is absent or null
	Last        bool   // nextCursor is null
	Total       int64  // totalCount; 0 if it is absent
}

// Take takes what the last call returned.
func (w *Walk) Take(p Page) {
	w.total = max(w.total, p.Total)
	numbered := w.cursor == ""
	if w.cursor = p.Cursor; w.cursor == "" {
		w.done = !numbered || p.Last || p.Items < p.Size || p.Items == 0
	}
}

// End ends the walk.
func (w *Walk) End() { w.done = true }

// Done reports whether there is no further page.
func (w *Walk) Done() bool { return w.done }

// Total returns the number of all rows, as far as it is known.
func (w *Walk) Total() int64 { return w.total }

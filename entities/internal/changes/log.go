// Package changes keeps what a transaction has written, and what it found of the rows
// before, so that at its end the net change of each row can be told.
//
// What belongs here: the account of rows and links. Not here: reading or writing
// them, or who may see them.
package changes

import (
	"slices"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/run/store"
)

// Write is one write to one row.
type Write struct {
	Kind   *model.Kind
	ID     any
	Action store.Action
	Links  []*model.Edge // many-to-many edges that the write says something of
	Void   bool          // it did not take place
}

// Row names a row of a transaction's set.
type Row struct {
	Kind *model.Kind
	ID   string // as callers see it
}

// RowOf names the row with a native id.
func RowOf(k *model.Kind, id any) Row { return Row{k, k.FormatID(id)} }

// Before is a row as the transaction found it. That does not depend on what was
// written since, or rolled back to a savepoint, so it is read once.
type Before struct {
	There bool
	Seen  []byte // what the caller may see of it
	Ahead int    // bytes that are counted for what it becomes
}

// Log is what one transaction has written. Its zero value is empty.
type Log struct {
	writes    []Write // in the order in which they began, so that what a write brings with it comes after it
	creations []*Creation
	before    map[Row]Before           // where the run records
	links     map[side]map[string]link // likewise, by the id at the other side
	listed    map[side]bool            // whose links are all in links, since their row was deleted: another one is new
}

// Begin records a write that begins, and returns its place.
func (l *Log) Begin(w Write) int {
	l.writes = append(l.writes, w)
	return len(l.writes) - 1
}

// Write returns the write at a place.
func (l *Log) Write(at int) *Write { return &l.writes[at] }

// Void takes back a write that did not happen. What hooks wrote in between stays, because
// it did.
func (l *Log) Void(at int) { l.writes[at].Void = true }

// Len returns how many writes there are.
func (l *Log) Len() int { return len(l.writes) }

// Since returns the writes from a place on.
func (l *Log) Since(mark int) []Write { return l.writes[mark:] }

// Undo takes back the writes from a place on.
func (l *Log) Undo(mark int) {
	clear(l.writes[mark:])
	l.writes = l.writes[:mark]
}

// Creation is the creation of a row while hooks are still running, which may write to the
// row or to what it is linked with.
type Creation struct {
	Kind    *model.Kind
	Made    ent.Mutation
	Upsert  *Upsert // the statement that may have updated a row instead; nil for none
	log     *Log
	parent  *Creation // in whose hooks it is made, nil for none
	assumed []Row
}

// BeginCreation records the creation of a row, in the hooks of another one unless parent is nil.
func (l *Log) BeginCreation(k *model.Kind, m ent.Mutation, parent *Creation) *Creation {
	c := &Creation{Kind: k, Made: m, log: l, parent: parent}
	l.creations = append(l.creations, c)
	return c
}

// Together returns the unfinished creations that one statement makes: those of the bulk that c is
// the last one of, or c alone.
func (c *Creation) Together() (out []*Creation) {
	for _, o := range c.log.creations {
		if o.Kind == c.Kind && o.parent == c.parent {
			out = append(out, o)
		}
	}
	return out
}

// Upsert is a statement that creates rows, or updates those which have a unique key of theirs.
type Upsert struct {
	Made     map[*Creation]string // the ids of new rows as callers see them, "" where the database makes them
	Found    map[string]*Found    // before it, by id as callers see it
	Largest  *int64               // id before it, where the database makes integers
	Nothing  bool                 // it updates none
	Recorded bool                 // what it did to the rows that were found is recorded
}

// Found is a row that an Upsert may update.
type Found struct {
	ID      any // native
	Image   []byte
	Version int64
}

// End marks the creation as finished.
func (c *Creation) End() {
	c.log.creations = slices.DeleteFunc(c.log.creations, func(o *Creation) bool { return o == c })
}

// Forget drops what was assumed of the row when its creation failed.
func (c *Creation) Forget() {
	for _, at := range c.assumed {
		delete(c.log.before, at)
	}
}

// CreatedHere reports whether the transaction has created a row, or is creating it.
func (l *Log) CreatedHere(k *model.Kind, id any) bool {
	at := RowOf(k, id)
	if b, known := l.before[at]; known {
		return !b.There
	}
	for _, c := range l.creations {
		if c.Upsert != nil && c.Upsert.Found[at.ID] != nil {
			continue
		}
		if own, ok := c.Kind.ID(c.Made); ok && c.Kind == k && k.FormatID(own) == at.ID {
			c.assumed = append(c.assumed, at)
			l.SetBefore(at, Before{})
			return true
		}
	}
	return false
}

// Before returns a row as the transaction found it, if that is known.
func (l *Log) Before(at Row) (b Before, known bool) {
	b, known = l.before[at]
	return b, known
}

// SetBefore keeps a row as the transaction found it.
func (l *Log) SetBefore(at Row, b Before) {
	if l.before == nil {
		l.before = map[Row]Before{}
	}
	l.before[at] = b
}

// Written returns the rows that were written.
func (l *Log) Written() map[Row]bool {
	out := make(map[Row]bool, len(l.writes))
	for i := range l.writes {
		if w := &l.writes[i]; !w.Void {
			out[RowOf(w.Kind, w.ID)] = true
		}
	}
	return out
}

package read

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/koan-go/koan/framework/database/sqltext"
)

// trees reads rows with the rows that are related to them, level by level.
type trees struct {
	statements *statements
	bounds     *bounds
}

// level is the rows of one selection, before relations are spliced in: their
// JSON without the closing brace, one after the other.
type level struct {
	reads    *selection
	buf      []byte
	rows     []row
	refs     []any // of each row, its references to relations that it owns
	children []*children
	cut      bool // there were more rows than the budget had room for
	single   bool // there is one row at most, so none is asked for after it

	order  []term // of the root of a collection
	places []any  // of each row, its values in the order, or longPlace
	placed int    // bytes of places
}

type row struct {
	start, end int
	key        any // as the database has it; only where relations need it
	parent     any // what the row was read for; only below the root
}

// reader has the cells of one statement.
type reader struct {
	cells  []cell
	dest   []any
	key    any
	parent any
	refs   []any
	places []*any // where the values of the order come
}

// newReader makes the cells of a statement that selects the layout, then the
// references, then the parent or what else the order needs.
func newReader(l *level, parent bool) *reader {
	columns, refs := l.reads.layout.columns, countOwned(l.reads)
	r := readers.Get().(*reader)
	r.cells, r.refs = r.cells[:0], slices.Grow(r.refs[:0], refs)[:refs]
	for _, o := range columns {
		r.cells = append(r.cells, cell{out: &l.buf, kind: o.kind, form: o.form, key: o.key, scale: o.scale})
	}
	if len(l.reads.relations) > 0 {
		r.cells[0].keep = &r.key
	}
	for i := range refs {
		r.cells = append(r.cells, cell{keep: &r.refs[i], raw: true})
	}
	beside := make([]any, len(l.order))
	for i, t := range l.order {
		at := l.reads.layout.index(t)
		if at < 0 {
			at = len(r.cells)
			r.cells = append(r.cells, cell{raw: true})
		}
		if r.cells[at].keep == nil {
			r.cells[at].keep = &beside[i]
		}
		r.places = append(r.places, r.cells[at].keep)
	}
	if parent {
		r.cells = append(r.cells, cell{keep: &r.parent, raw: true})
	}
	for i := range r.cells { // which do not move any more
		r.dest = append(r.dest, &r.cells[i])
	}
	return r
}

// readers are used again: one is most of what reading a row takes of memory.
var readers = sync.Pool{New: func() any { return &reader{} }}

// rowBytes is what a row of a relation takes in memory besides its JSON: its place, its
// key, and what it is found by.
const rowBytes = 160

// size is how many bytes the rows of a relation take in memory.
func (l *level) size() int { return len(l.buf) + len(l.rows)*rowBytes }

// release returns the reader's memory to the pool. Nothing of it may be used afterwards.
func (r *reader) release() {
	clear(r.cells)
	clear(r.refs)
	clear(r.places)
	r.dest, r.places, r.key, r.parent = r.dest[:0], r.places[:0], nil, nil
	readers.Put(r)
}

// countOwned counts the relations whose reference is a column of the selection's own
// table.
func countOwned(s *selection) int {
	n := 0
	for _, r := range s.relations {
		if r.owns() {
			n++
		}
	}
	return n
}

func (r *relation) owns() bool { return r.edge.JoinTable == "" && r.edge.OwnKey != "" }

// references appends the columns that owned relations start from.
func references(b *sqltext.Builder, t sqltext.Alias, s *selection) {
	for _, r := range s.relations {
		if r.owns() {
			b.Raw(",").Column(t, r.edge.OwnKey)
		}
	}
}

// root reads the first level of a call into l. One row that does not fit ends in
// call_too_large; otherwise a level that does not fit is cut.
func (w *trees) root(ctx context.Context, q Querier, b *sqltext.Builder, l *level) (*level, error) {
	l.buf = getBuffer()
	err := w.read(ctx, q, b, l, false, w.bounds.limit())
	if err == nil && l.cut && len(l.rows) == 0 {
		err = tooLargeFault(l.reads.entity)
	}
	if err != nil {
		l.release()
		return nil, err
	}
	return l, nil
}

// read appends a statement's rows to a level, up to budget bytes.
func (w *trees) read(ctx context.Context, q Querier, b *sqltext.Builder, l *level, parent bool, budget int) (err error) {
	rows, err := w.statements.query(ctx, q, b)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	r := newReader(l, parent)
	defer r.release()
	for rows.Next() {
		start := len(l.buf)
		if err := rows.Scan(r.dest...); err != nil {
			return nameRow(err, l.reads.entity, l.buf[start:])
		}
		if len(l.buf)+l.placed > budget || parent && l.size() > budget {
			l.buf, l.cut = l.buf[:start], true
			return nil
		}
		if len(l.rows) == 1 && len(l.buf) > wideRows { // more of these will come: they are not copied again and again
			l.buf = slices.Grow(l.buf, max(0, budget-len(l.buf)))
		}
		l.rows = append(l.rows, row{start: start, end: len(l.buf), key: r.key, parent: r.parent})
		l.refs = append(l.refs, r.refs...)
		l.keepPlace(r.places)
		if l.single {
			return nil
		}
	}
	return rows.Err()
}

// oversizedValue stands for the values of a row in an order that take more bytes than a cursor
// may have: how many.
type oversizedValue int

// keepPlace keeps the values of a row in the order. Most rows of a page are not the last
// one, so what no cursor could name is not kept.
func (l *level) keepPlace(values []*any) {
	size := 0
	for _, v := range values {
		switch v := (*v).(type) {
		case string:
			size += len(v)
		case keyBytes:
			size += len(v)
		}
	}
	for _, v := range values {
		if size > MaxCursor {
			l.places = append(l.places, oversizedValue(size))
			continue
		}
		l.places = append(l.places, *v)
	}
	if size <= MaxCursor {
		l.placed += size
	}
}

// wideRows is how long the first two rows of a level are together that have room made for
// all there may be, in bytes.
const wideRows = 256 << 10

// maxPooled keeps the memory of rare big answers from staying.
const maxPooled = 1 << 20

var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

func getBuffer() []byte { return (*buffers.Get().(*[]byte))[:0] }

func putBuffer(b []byte) {
	if cap(b) > 0 && cap(b) <= maxPooled {
		buffers.Put(&b)
	}
}

// release returns the memory of a level and all below it to the pool. Nothing of it may
// be used afterwards.
func (l *level) release() {
	putBuffer(l.buf)
	l.buf = nil
	for _, c := range l.children {
		if c != nil {
			c.level.release()
		}
	}
	l.children = nil
}

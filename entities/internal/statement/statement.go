// Package statement makes the statements that store rows: INSERT, UPDATE and DELETE
// of one entity's table, each of them giving back what it left behind, so that a
// write and its answer are one statement.
//
// What belongs here: the text of writing statements. Not here: ent, what
// may be written and by whom, or an answer made of anything but what the database
// gave back.
package statement

import (
	"context"
	"encoding/json"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/read"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// Value is what a statement does to one column. Values of one row stand in the
// order of the entity's columns.
type Value struct {
	Column string
	V      any  // as the driver takes it; nil is NULL
	Add    bool // the column counts up by V
}

// Row is what a statement writes to one row.
type Row []Value

// SameShape reports whether two rows write the same columns, so that one statement
// can insert both. A column that is missing from one of them would be NULL in it,
// where the database has a default.
func (r Row) SameShape(other Row) bool {
	if len(r) != len(other) {
		return false
	}
	for i := range r {
		if r[i].Column != other[i].Column {
			return false
		}
	}
	return true
}

// Writer makes statements for one dialect. It is safe for concurrent use.
type Writer struct{ reader *read.Engine }

// New makes a writer that gives rows back as a reader would read them.
func New(reader *read.Engine) *Writer { return &Writer{reader} }

// maxArgs bounds the values of one statement: SQLite takes 32,766, PostgreSQL
// 65,535.
const maxArgs = 16_384

// maxRows bounds the rows of one statement. Beyond some dozens the statement
// gets no faster by the row.
const maxRows = 128

// maxKeys bounds the keys of one list.
const maxKeys = 1024

// Insert stores rows of one shape in as few statements as they take; each is
// called for every row that was stored, with its key as the database has it and
// its JSON, valid until each returns. With quiet a row whose key is there already
// is passed over. more are expressions over the stored row, whose values each gets, too; none
// where the rows are wide.
func (w *Writer) Insert(ctx context.Context, q read.Querier, e *descriptor.Entity, rows []Row, quiet bool, more []string, each func(key any, row []byte, more []any) error) error {
	for len(rows) > 0 {
		n := portion(rows)
		b := w.reader.Statement()
		b.Raw("INSERT INTO ").Name(e.Table)
		columns(b, rows[0])
		for i, r := range rows[:n] {
			if i > 0 {
				b.Raw(",")
			}
			for j := range r {
				if j == 0 {
					b.Raw("(")
				} else {
					b.Raw(",")
				}
				b.Arg(r[j].V)
			}
			if len(r) > 0 {
				b.Raw(")")
			}
		}
		if quiet {
			b.Raw(" ON CONFLICT (")
			for i, name := range e.Key.Names() {
				b.Raw([]string{"", ","}[min(i, 1)]).Name(name)
			}
			b.Raw(") DO NOTHING")
		}
		if err := w.returned(ctx, q, e, b, rows[:n], more, each); err != nil {
			return err
		}
		rows = rows[n:]
	}
	return nil
}

// portion is how many of the rows the next statement takes: a power of two, so
// that lists of any length share a few texts, and few wide ones.
func portion(rows []Row) int {
	columns := len(rows[0])
	if columns == 0 {
		return 1
	}
	most := min(len(rows), maxRows, maxArgs/columns)
	n, size := 1, rows[0].Size()
	for n*2 <= most {
		for _, r := range rows[n : 2*n] {
			size += r.Size()
		}
		if size > wideBytes {
			break
		}
		n *= 2
	}
	return n
}

// columns begins the list of values; a row without any takes all its defaults.
func columns(b *sqltext.Builder, r Row) {
	if len(r) == 0 {
		b.Raw(" DEFAULT VALUES")
		return
	}
	for i := range r {
		if i == 0 {
			b.Raw(" (")
		} else {
			b.Raw(",")
		}
		b.Name(r[i].Column)
	}
	b.Raw(") VALUES ")
}

// Target is the row that Update changes.
type Target struct {
	Key     any
	Place   string // where the database has the row, "" where that is not known
	Version *int64 // the one that it must have; nil for any
}

// where appends the condition that a row is the target, whatever its version.
func (t *Target) where(b *sqltext.Builder, e *descriptor.Entity) {
	b.Raw(" WHERE ")
	if t.Place != "" {
		b.Raw("ctid=CAST(").Arg(t.Place).Raw(" AS tid) AND ") // only PostgreSQL tells places
	}
	filter.OwnKeyIs(b, &e.Key, t.Key)
}

// HasKey appends the condition that a row has a key.
func HasKey(b *sqltext.Builder, e *descriptor.Entity, key any) { filter.OwnKeyIs(b, &e.Key, key) }

// Changed is a row that Update has changed.
type Changed struct {
	JSON  []byte // nil where there was no such row
	Found []any  // values of the expressions over the row as it was
	Held  []any  // and as it is
}

// Update changes one row. found and held are expressions over it as it was and as it is, whose values come
// back too; none where the row is wide. A database without UPDATE ... FROM whose values RETURNING may name
// takes none for found.
func (w *Writer) Update(ctx context.Context, q read.Querier, e *descriptor.Entity, at Target, r Row, found, held []string) (out Changed, err error) {
	b := w.reader.Statement()
	w.set(b, e, r)
	more := make([]string, 0, len(found)+len(held))
	for i, expression := range found {
		name := "koan_found_" + strconv.Itoa(i)
		b.Raw([]string{" FROM (SELECT ", ", "}[min(i, 1)]).Raw(expression).Raw(" AS ").Raw(name)
		more = append(more, name)
	}
	if len(found) > 0 {
		b.Raw(" FROM ").Name(e.Table)
		at.where(b, e)
		b.Raw(") koan_found")
	}
	at.where(b, e)
	if at.Version != nil {
		b.Raw(" AND ").Name(e.VersionColumn).Raw("=").Arg(*at.Version)
	}
	err = w.returned(ctx, q, e, b, []Row{r}, append(more, held...), func(_ any, row []byte, values []any) error {
		out = Changed{JSON: read.Own(row)}
		if len(values) > 0 {
			out.Found, out.Held = values[:len(found)], values[len(found):]
		}
		return nil
	})
	return out, err
}

// IsWide reports whether what a row is written with is so large that nothing but its key comes back with it.
func (r Row) IsWide() bool { return r.Size() >= wideBytes }

// returned ends and runs a statement that gives the rows back which it wrote. SQLite keeps
// what RETURNING gives until the statement is over, several times: wide rows are read
// afterwards instead, in no order.
func (w *Writer) returned(ctx context.Context, q read.Querier, e *descriptor.Entity, b *sqltext.Builder, rows []Row, more []string, each func(key any, row []byte, more []any) error) error {
	all := 0
	for _, r := range rows {
		all += r.Size()
	}
	if all < wideBytes {
		return w.reader.Returned(ctx, q, e, b, more, each)
	}
	keys, err := w.reader.ReturnedKeys(ctx, q, e, b)
	if err != nil {
		return err
	}
	return w.reader.Images(ctx, q, e, keys, func(key any, row []byte) error { return each(key, row, nil) })
}

// wideBytes is from how many bytes of text on rows are wide, together.
const wideBytes = 512 << 10

// Size is how many bytes the texts take that the row writes.
func (r Row) Size() (n int) {
	for i := range r {
		switch v := r[i].V.(type) {
		case string:
			n += len(v)
		case []byte:
			n += len(v)
		case json.RawMessage:
			n += len(v)
		}
	}
	return n
}

func (w *Writer) set(b *sqltext.Builder, e *descriptor.Entity, r Row) {
	b.Raw("UPDATE ").Name(e.Table).Raw(" SET ")
	for i := range r {
		if i > 0 {
			b.Raw(",")
		}
		b.Name(r[i].Column).Raw("=")
		if r[i].Add {
			b.Name(r[i].Column).Raw("+")
		}
		b.Arg(r[i].V)
	}
}

// UpdateMany changes all rows with one of the keys, and returns the keys of those
// that were there.
func (w *Writer) UpdateMany(ctx context.Context, q read.Querier, e *descriptor.Entity, keys []any, r Row) ([]any, error) {
	return w.portions(keys, func(some []any) ([]any, error) {
		b := w.reader.Statement()
		w.set(b, e, r)
		b.Raw(" WHERE ")
		filter.OwnKeyIn(b, &e.Key, some)
		return w.reader.ReturnedKeys(ctx, q, e, b)
	})
}

// DeleteMany deletes all rows with one of the keys, and returns the keys of those
// that were there.
func (w *Writer) DeleteMany(ctx context.Context, q read.Querier, e *descriptor.Entity, keys []any) ([]any, error) {
	return w.portions(keys, func(some []any) ([]any, error) {
		b := w.reader.Statement()
		b.Raw("DELETE FROM ").Name(e.Table).Raw(" WHERE ")
		filter.OwnKeyIn(b, &e.Key, some)
		return w.reader.ReturnedKeys(ctx, q, e, b)
	})
}

// Keys returns the keys of the rows that have one of the values in a column, in
// their order within each portion of values. There may be many times as many as
// values: admit is asked before each is kept, nil admits all.
func (w *Writer) Keys(ctx context.Context, q read.Querier, e *descriptor.Entity, column string, values []any, admit read.Admit) ([]any, error) {
	return w.portions(values, func(some []any) ([]any, error) {
		b := w.reader.Statement()
		b.Raw("SELECT ")
		filter.OwnKey(b, &e.Key)
		b.Raw(" FROM ").Name(e.Table).Raw(" WHERE ").Name(column).Raw(" IN (").List(some).Raw(") ORDER BY 1")
		return w.reader.SelectedKeys(ctx, q, b, admit)
	})
}

// Present returns those of some keys that are there.
func (w *Writer) Present(ctx context.Context, q read.Querier, e *descriptor.Entity, keys []any) ([]any, error) {
	return w.portions(keys, func(some []any) ([]any, error) {
		b := w.reader.Statement()
		b.Raw("SELECT ")
		filter.OwnKey(b, &e.Key)
		b.Raw(" FROM ").Name(e.Table).Raw(" WHERE ")
		filter.OwnKeyIn(b, &e.Key, some)
		b.Raw(" ORDER BY 1")
		return w.reader.SelectedKeys(ctx, q, b, nil)
	})
}

// portions runs a statement for as many keys as one list takes, and joins what
// they give.
func (w *Writer) portions(keys []any, run func(some []any) ([]any, error)) (out []any, err error) {
	for len(keys) > 0 {
		n := min(len(keys), maxKeys)
		some, err := run(keys[:n])
		if err != nil {
			return nil, err
		}
		out, keys = append(out, some...), keys[n:]
	}
	return out, nil
}

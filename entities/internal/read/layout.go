package read

import (
	"encoding/json"
	"sync"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// layout is the columns that one selection reads, in the order of the JSON. The
// layout of all fields is made once per entity and dialect.
type layout struct {
	entity  *descriptor.Entity
	columns []output

	mu    sync.Mutex
	lists map[string]string // dialect and way of naming -> select list
}

// output is one column on its way into JSON.
type output struct {
	column *descriptor.Column
	kind   kind
	form   descriptor.Form
	key    string // `{"id":` for the first, `,"name":` for the others
	scale  int    // of a decimal whose column has one
}

type layoutKey struct{}

// fullLayout is the layout of everything that callers may read.
func fullLayout(e *descriptor.Entity) *layout {
	return descriptor.Remember(e.Memo, layoutKey{}, func() *layout { return newLayout(e, nil) })
}

// newLayout is the layout of the named fields, in the entity's own order; nil
// names all. The key is always the first.
func newLayout(e *descriptor.Entity, fields map[string]bool) *layout {
	l := &layout{entity: e, lists: map[string]string{}}
	key := e.Resource.Key
	key.Type = catalog.TypeID
	l.columns = append(l.columns, newOutput("{", &key, &e.Key))
	for i := range e.Resource.Fields {
		f := &e.Resource.Fields[i]
		if f.Name == key.Name || !filter.Readable(f) || fields != nil && !fields[f.Name] {
			continue
		}
		if c := e.Column(f.Name); c != nil {
			l.columns = append(l.columns, newOutput(",", f, c))
		}
	}
	return l
}

func newOutput(before string, f *catalog.Field, c *descriptor.Column) output {
	name, _ := json.Marshal(f.Name)
	out := output{column: c, kind: kindOf(f, c), form: c.Form, key: before + string(name) + ":"}
	if out.form != nil {
		out.kind = kindHeld
		if c.Storage == descriptor.Decimal {
			out.kind = kindHeldDecimal
		}
	}
	if c.Storage == descriptor.Decimal && c.Capacity != nil {
		out.scale = c.Capacity.Scale
	}
	return out
}

// list is the select list of the layout for a dialect.
func (l *layout) list(d sqltext.Dialect) string {
	return l.named(d, "", func(b *sqltext.Builder, name string) { b.Column(0, name) })
}

// returning is the same list without an alias, as RETURNING takes it.
func (l *layout) returning(d sqltext.Dialect) string {
	return l.named(d, " returning", func(b *sqltext.Builder, name string) { b.Name(name) })
}

// named makes the list once for each way of naming columns.
func (l *layout) named(d sqltext.Dialect, way string, column func(b *sqltext.Builder, name string)) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	if s, ok := l.lists[d.Name()+way]; ok {
		return s
	}
	b := sqltext.Builder{Dialect: d}
	for i, o := range l.columns {
		if i > 0 {
			b.Raw(",")
		}
		before, after := "", ""
		switch {
		case o.column.IsLoose():
			before = d.BareColumn()
		case o.column.IsArray():
			before, after = "to_jsonb(", ")"
		case o.kind == kindTime:
			before, after = d.TimeText()
		case o.kind == kindDay:
			before, after = d.DayText()
		}
		b.Raw(before)
		if i == 0 {
			filter.SelectKey(&b, o.column, func(name string) { column(&b, name) })
		} else {
			column(&b, o.column.Name)
		}
		b.Raw(after)
	}
	s := string(b.Text())
	l.lists[d.Name()+way] = s
	return s
}

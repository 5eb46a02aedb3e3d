package read

import (
	hexcode "encoding/hex"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
)

// term is one field of a sort, or the rank of a search.
type term struct {
	column     *descriptor.Column
	path       []step // the relationships that lead from the entity to the column's own
	descending bool
	nulls      nulls
	rank       *filter.Words // instead of a column
}

// step is a to-one relationship that a sort goes over. A row that it does not lead to, or
// that the caller may not read, has null in every field.
type step struct {
	edge        *descriptor.Edge
	own, target *descriptor.Entity
	guard       *filter.Guard
}

// label is how a sort names what it sorts by.
func (t term) label() string {
	if t.column == nil {
		return "$rank"
	}
	label := ""
	for _, s := range t.path {
		label += s.edge.Name + "."
	}
	return label + t.column.Field
}

// name is the whole term in words: what a cursor is bound to.
func (t term) name() string {
	name := t.label()
	if t.descending {
		name = "-" + name
	}
	if t.nulls != nullsAnywhere {
		name += " nulls " + string(t.nulls)
	}
	return name
}

// entity is the entity whose column the term is, where the sort is one of root.
func (t term) entity(root *descriptor.Entity) *descriptor.Entity {
	if len(t.path) == 0 {
		return root
	}
	return t.path[len(t.path)-1].target
}

// reach appends what write appends about the table with the term's column: about a itself, or
// as a query of the one row that the relationships lead to.
func (t term) reach(b *sqltext.Builder, a sqltext.Alias, write func(sqltext.Alias)) {
	if len(t.path) == 0 {
		write(a)
		return
	}
	rows := make([]sqltext.Alias, len(t.path))
	for i := range rows {
		rows[i] = b.NewAlias()
	}
	b.Raw("(SELECT ")
	write(rows[len(rows)-1])
	b.Raw(" FROM ")
	for i, s := range t.path {
		if i > 0 {
			b.Raw(" JOIN ")
		}
		b.Name(s.target.Table).Raw(" AS ").Alias(rows[i])
		if i > 0 {
			b.Raw(" ON ")
			s.join(b, rows[i-1], rows[i])
		}
	}
	b.Raw(" WHERE ")
	t.path[0].join(b, a, rows[0])
	for i, s := range t.path {
		appendRule(b, rows[i], s.guard.Rule())
	}
	b.Raw(")")
}

// join appends the condition that a row of the target belongs to one of the step's own entity.
func (s step) join(b *sqltext.Builder, own, target sqltext.Alias) {
	if len(s.edge.On) > 0 {
		filter.Joined(b, own, target, s.edge.On)
		return
	}
	if s.edge.OwnKey != "" {
		b.Column(target, s.target.Key.Name).Raw("=").Column(own, s.edge.OwnKey)
		return
	}
	b.Column(target, s.edge.TargetKey).Raw("=").Column(own, s.own.Key.Name)
}

// write appends what is sorted by.
func (t term) write(b *sqltext.Builder, a sqltext.Alias) {
	if t.rank != nil {
		t.rank.Rank(b, a)
		return
	}
	t.reach(b, a, func(a sqltext.Alias) { filter.Column(b, a, t.column) })
}

// appendPlace appends what is selected to know a row's place in the sort.
func (t term) appendPlace(b *sqltext.Builder, a sqltext.Alias) {
	if t.rank != nil {
		t.rank.Rank(b, a)
		return
	}
	t.reach(b, a, func(a sqltext.Alias) {
		switch {
		case t.column.IsLoose():
			b.Raw(b.Dialect.BareColumn()).Column(a, t.column.Name)
		case filter.InOwnOrder(b, t.column):
			b.Raw("CAST(").Column(a, t.column.Name).Raw(" AS TEXT)")
		case t.column.Storage == descriptor.Day, t.column.Native != "":
			filter.Column(b, a, t.column)
		case t.column.Storage == descriptor.Time:
			before, after := b.Dialect.TimeText()
			b.Raw(before).Column(a, t.column.Name).Raw(after)
		default:
			b.Column(a, t.column.Name)
		}
	})
}

func (t term) bind(b *sqltext.Builder, v any) {
	if t.rank != nil {
		b.Arg(v)
		return
	}
	filter.Bind(b, t.column, t.native(b.Dialect, v))
}

// native returns a value of a cursor as the column has it.
func (t term) native(d sqltext.Dialect, v any) any {
	if held, ok := v.(keyBytes); ok {
		return []byte(held)
	}
	if t.column.IsLoose() {
		return v
	}
	switch t.column.Storage {
	case descriptor.Time, descriptor.Day:
		text, ok := v.(string)
		if !ok || d.TimesAreTexts() {
			return v
		}
		if at, err := parsePlace(text); err == nil {
			return at
		}
	case descriptor.Bool:
		if n, ok := v.(int64); ok {
			return n != 0
		}
	case descriptor.Bytes:
		if raw, ok := keyText(v); ok {
			return raw
		}
	case descriptor.Text, descriptor.Int, descriptor.Float, descriptor.JSON, descriptor.UUID, descriptor.Decimal, descriptor.Held:
	}
	return v
}

func (t term) nullable() bool { return t.column != nil && (t.column.Nullable || len(t.path) > 0) }

// accepts reports whether a value can be one of the term: what a cursor says is
// believed as little as any other input.
func (t term) accepts(v any) bool {
	if v == nil {
		return t.nullable()
	}
	if t.rank != nil {
		_, ok := v.(int64)
		return ok
	}
	s, isText := v.(string)
	if isText && (!utf8.ValidString(s) || strings.ContainsRune(s, 0)) {
		return false
	}
	_, isInt := v.(int64)
	_, isFloat := v.(float64)
	_, isBool := v.(bool)
	if t.column.IsLoose() { // rows may have a value of any type
		return true
	}
	if _, isBlob := v.(keyBytes); isBlob || t.column.Form != nil { // whatever the app's type keeps
		return t.column.Form != nil || t.column.Storage == descriptor.Bytes
	}
	switch t.column.Storage {
	case descriptor.Int:
		return isInt || isText && isNumber(s) && t.column.Capacity != nil // of a decimal column
	case descriptor.Float:
		return isFloat || isInt || isText && isNumber(s) // PostgreSQL has decimals as texts
	case descriptor.Bool:
		return isBool || isInt
	case descriptor.Time, descriptor.Day:
		_, err := parsePlace(s)
		return isText && (err == nil || isEndless(s))
	case descriptor.UUID:
		_, err := uuid.Parse(s)
		return isText && err == nil
	case descriptor.Decimal:
		return isInt || isFloat || isText && isNumber(s)
	case descriptor.Text:
		return isText
	case descriptor.Bytes:
		_, ok := keyText(v)
		return ok
	case descriptor.JSON, descriptor.Held:
	}
	return false
}

// keyText reads the text that PostgreSQL writes of bytes, which those of a key are selected as; ok is false for any other
// value.
func keyText(v any) (raw []byte, ok bool) {
	s, isText := v.(string)
	digits, marked := strings.CutPrefix(s, `\x`)
	if !isText || !marked {
		return nil, false
	}
	raw, err := hexcode.DecodeString(digits)
	return raw, err == nil
}

// isNumber reports whether a text is a number as databases write decimals.
func isNumber(s string) bool {
	_, err := strconv.ParseFloat(s, 64)
	return err == nil
}

func orderBy(b *sqltext.Builder, t sqltext.Alias, order []term) {
	orderWith(b, order, func(_ int, o term) { o.write(b, t) })
}

// orderWith is orderBy with each term written by a function.
func orderWith(b *sqltext.Builder, order []term, write func(i int, o term)) {
	for i, o := range order {
		if i == 0 {
			b.Raw(" ORDER BY ")
		} else {
			b.Raw(",")
		}
		write(i, o)
		if o.descending {
			b.Raw(" DESC")
		}
		if o.nullable() {
			writeNulls(b, o.nulls, o.descending)
		}
	}
}

// writeNulls appends where nulls are sorted, unless the database puts them there by itself.
func writeNulls(b *sqltext.Builder, n nulls, descending bool) {
	if n == nullsAnywhere || (n == nullsLast) == (b.Dialect.NullsFirst() == descending) {
		return
	}
	if n == nullsFirst {
		b.Raw(" NULLS FIRST")
		return
	}
	b.Raw(" NULLS LAST")
}

// appendAfter appends the condition of the rows that come after a place in the sort,
// which ends with the key.
func appendAfter(b *sqltext.Builder, a sqltext.Alias, order []term, values []any) {
	t, v := order[0], values[0]
	if len(order) == 1 {
		t.appendAfter(b, a, v)
		return
	}
	b.Raw("(")
	if v != nil && !t.nullsLast(b.Dialect) { // what an index can start from
		t.write(b, a)
		b.Raw(map[bool]string{false: ">=", true: "<="}[t.descending])
		t.bind(b, v)
		b.Raw(" AND ")
	}
	b.Raw("(")
	t.appendAfter(b, a, v)
	b.Raw(" OR ")
	t.write(b, a)
	if v == nil {
		b.Raw(" IS NULL")
	} else {
		b.Raw("=")
		t.bind(b, v)
	}
	b.Raw(" AND ")
	appendAfter(b, a, order[1:], values[1:])
	b.Raw("))")
}

// nullsLast reports whether nulls of the term come after its values.
func (t term) nullsLast(d sqltext.Dialect) bool {
	if t.nulls != nullsAnywhere {
		return t.nullable() && t.nulls == nullsLast
	}
	return t.nullable() && d.NullsFirst() == t.descending
}

// appendAfter appends the condition of the rows whose value of the term comes after v.
func (t term) appendAfter(b *sqltext.Builder, a sqltext.Alias, v any) {
	nulls := t.nullsLast(b.Dialect)
	switch {
	case v == nil && nulls:
		b.Raw("1=0")
		return
	case v == nil:
		t.write(b, a)
		b.Raw(" IS NOT NULL")
		return
	case nulls:
		b.Raw("(")
	}
	t.write(b, a)
	b.Raw(map[bool]string{false: ">", true: "<"}[t.descending])
	t.bind(b, v)
	if nulls {
		b.Raw(" OR ")
		t.write(b, a)
		b.Raw(" IS NULL)")
	}
}

// missingTerms returns the terms that a layout does not select anyway.
func (l *layout) missingTerms(order []term) []term {
	var out []term
	for _, t := range order {
		if l.index(t) < 0 {
			out = append(out, t)
		}
	}
	return out
}

// index returns where a layout selects a term, -1 for nowhere.
func (l *layout) index(t term) int {
	if len(t.path) > 0 || t.column != nil && t.column.Native != "" {
		return -1 // of another entity, or sorted by a text that the column itself does not come as
	}
	for i := range l.columns {
		if t.column != nil && l.columns[i].column.Field == t.column.Field {
			return i
		}
	}
	return -1
}

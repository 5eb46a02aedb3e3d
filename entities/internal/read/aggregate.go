package read

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// The limits of one aggregate.
const (
	maxRows     = 10_000 // of one answer, where a limit asks for so many
	DefaultRows = 1000   // where no limit is given; more of them end in a fault
	maxGroupBy  = 8      // columns to group by
	maxMeasures = 32     // columns that are computed
)

// Aggregate is a checked input of the operation aggregate (CONTRACT section 2).
type Aggregate struct {
	Query
	Filter *filter.Tree
	Limit  int // 0 where the input names none

	columns []column // those to group by come first
	groups  int
	having  *filter.Tree // over the columns
	order   []position
}

// column is one member of an answer's rows.
type column struct {
	name  string
	call  call
	by    sqltext.Unit // "" for none
	zone  string       // in which the buckets of times begin
	of    source       // nothing for call count
	field catalog.Field
	inner descriptor.Column // where the groups have it
}

// position is one column of a sort.
type position struct {
	column     int
	descending bool
	nulls      nulls
}

// source is what a column is made of: a field, or the reference of a to-one
// relationship.
type source struct {
	name   string
	field  catalog.Field
	column descriptor.Column
	// Of a relationship: what it refers to, and which of those rows may be read; any
	// other counts as none.
	target *descriptor.Entity
	guard  *filter.Guard
	// long says that nothing keeps its values from being longer than MaxValue.
	long bool
}

// call is what is computed over the rows of a group.
type call string

const (
	group    call = ""
	count    call = "count"
	distinct call = "distinct"
	sum      call = "sum"
	average  call = "avg"
	least    call = "min"
	greatest call = "max"
)

// Aggregate computes one row per group: {"rows":[...],"truncated":false}. Without
// groups it is one row, whatever matches. truncated reports that there were more
// rows than the limit; without a limit more than DefaultRows end in
// result_too_large, and more bytes than a call may have in call_too_large.
func (e *Engine) Aggregate(ctx context.Context, q Querier, a *Aggregate) (out []byte, err error) {
	most := a.Limit
	if most == 0 {
		most = DefaultRows
	}
	if err := a.checkZones(e.dialect); err != nil {
		return nil, err
	}
	rows, err := e.query(ctx, q, e.aggregate(a, most+1))
	if err != nil {
		return nil, a.dataFault(err)
	}
	defer func() {
		if err = errors.Join(err, rows.Close()); err != nil {
			out = nil
		}
	}()
	buf := append(getBuffer(), `{"rows":[`...)
	dest := a.cells(&buf)
	n := 0
	for ; n < most && rows.Next(); n++ {
		if n > 0 {
			buf = append(buf, ',')
		}
		if err := rows.Scan(dest...); err != nil {
			return nil, a.dataFault(nameRow(err, a.Entity, nil))
		}
		if buf = append(buf, '}'); len(buf) > e.limit() {
			return nil, fault.New(fault.CallTooLarge, "the rows of the aggregate exceed the size limit of a call").
				WithHint("Set a lower `limit`, or group by fewer or shorter fields.")
		}
	}
	more := n == most && rows.Next()
	if err := rows.Err(); err != nil {
		return nil, a.dataFault(err)
	}
	if more && a.Limit == 0 {
		return nil, fault.Newf(fault.ResultTooLarge, "the aggregate has more than %d rows", DefaultRows).WithPath("/limit").
			WithHint("Set `limit` (at most %d) with a sort to get the first rows, group more coarsely, or use `having`.", maxRows)
	}
	buf = append(buf, `],"truncated":`...)
	buf = append(strconv.AppendBool(buf, more), '}')
	return (&assembly{out: buf}).bytes(), nil
}

// checkZones ends in capability_unsupported where the database cannot make the buckets of a time zone.
func (a *Aggregate) checkZones(d sqltext.Dialect) error {
	for i := range a.columns {
		if c := &a.columns[i]; c.inZone() && d.Bucket(c.by, c.zone) == nil {
			return fault.New(fault.CapabilityUnsupported, "this database has no buckets in the time zone "+filter.Quote(c.zone)).WithPath("/timeZone").
				WithHint("The app opened its SQLite database with a driver of its own, which knows no time zones. Leave timeZone out: buckets begin in UTC then.")
		}
	}
	return nil
}

// inZone reports whether the column is a bucket of times, which begins in a zone: days have none.
func (c *column) inZone() bool { return c.by != "" && c.of.column.Storage != descriptor.Day }

// aggregate is the statement: the groups as a table of their own, so that having
// and sort see plain columns.
func (x *statements) aggregate(a *Aggregate, limit int) *sqltext.Builder {
	b := x.builder()
	t, g := b.NewAlias(), b.NewAlias()
	before, after := x.dialect.TimeText()
	b.Raw("SELECT ")
	for i := range a.columns {
		if i > 0 {
			b.Raw(",")
		}
		if c := &a.columns[i]; c.inner.IsLoose() {
			b.Raw(x.dialect.BareColumn()).Column(g, c.inner.Name)
		} else if filter.InOwnOrder(b, &c.inner) {
			b.Raw("CAST(").Column(g, c.inner.Name).Raw(" AS TEXT)")
		} else if c.inner.Storage == descriptor.Time {
			b.Raw(before).Column(g, c.inner.Name).Raw(after)
		} else {
			b.Column(g, c.inner.Name)
		}
	}
	b.Raw(" FROM (SELECT ")
	for i := range a.columns {
		if i > 0 {
			b.Raw(",")
		}
		a.columns[i].expression(b, t)
		if a.groups == 0 && a.columns[i].call == distinct && a.columns[i].of.long {
			b.Raw(" FILTER (WHERE ")
			boundLength(b, t, &a.columns[i].of.column, MaxValue, i)
			b.Raw("=0)")
		}
		b.Raw(" AS ").Name(a.columns[i].inner.Name)
	}
	b.Raw(" FROM ").Name(a.Entity.Table).Raw(" AS ").Alias(t)
	if !a.Filter.Empty() {
		b.Raw(" WHERE ")
		a.Filter.Where(b, t)
	}
	for i := range a.groups {
		b.Raw(writeSeparators(i, " GROUP BY ")).Raw(strconv.Itoa(i + 1))
	}
	for i := range a.columns {
		if a.groups > 0 && a.columns[i].of.long && a.columns[i].by == "" {
			b.Raw(",") // one value, so it makes no other groups, and it is made before a row is sorted
			boundLength(b, t, &a.columns[i].of.column, MaxValue, i)
		}
	}
	b.Raw(") AS ").Alias(g)
	if !a.having.Empty() {
		b.Raw(" WHERE ")
		a.having.Where(b, g)
	}
	for i, p := range a.order {
		b.Raw(writeSeparators(i, " ORDER BY ")).Column(g, a.columns[p.column].inner.Name)
		if p.descending {
			b.Raw(" DESC")
		}
		writeNulls(b, p.nulls, p.descending)
	}
	return b.Raw(" LIMIT ").Arg(int64(limit))
}

func writeSeparators(i int, first string) string {
	if i == 0 {
		return first
	}
	return ","
}

// expression appends what a column is of the rows of a group.
func (c *column) expression(b *sqltext.Builder, t sqltext.Alias) {
	switch c.call {
	case group:
		c.value(b, t)
	case count:
		b.Raw("count(*)")
	case distinct:
		b.Raw("count(DISTINCT ")
		c.value(b, t)
		b.Raw(")")
	case sum, average, least, greatest:
		if c.field.Type == catalog.TypeDecimal && (c.call == sum || c.call == average) {
			writeBetween(b, b.Dialect.Computed(), func() { c.writeCall(b, t) })
			return
		}
		if c.field.Type == catalog.TypeInt && c.call == sum {
			writeBetween(b, b.Dialect.Integers(), func() { c.value(b, t) })
			return
		}
		c.writeCall(b, t)
	}
}

func (c *column) writeCall(b *sqltext.Builder, t sqltext.Alias) {
	if c.call == average && c.of.field.Type == catalog.TypeInt { // the integers as they are, beyond 2^53, too; what they come to is a float everywhere
		if b.Dialect.Name() != dialect.Postgres {
			b.Raw("CAST(avg(")
			c.value(b, t)
			b.Raw(") AS double precision)")
			return
		}
		b.Raw("CAST(sum(") // which is exact there, as an average is not: it has 16 digits
		c.value(b, t)
		b.Raw(") AS double precision)/count(")
		c.value(b, t)
		b.Raw(")")
		return
	}
	b.Raw(string(c.call)).Raw("(")
	if c.of.column.Single && (c.call == sum || c.call == average) { // a float of 64 bits everywhere
		b.Raw("CAST(")
		c.value(b, t)
		b.Raw(" AS double precision))")
		return
	}
	c.value(b, t)
	b.Raw(")")
}

// writeBetween appends an expression between each two pieces.
func writeBetween(b *sqltext.Builder, pieces []string, expression func()) {
	for i, piece := range pieces {
		if i > 0 {
			expression()
		}
		b.Raw(piece)
	}
}

// value appends the column's source: decimals as numbers, so that equal ones are
// equal however they are written, and times as the bucket they fall into.
func (c *column) value(b *sqltext.Builder, t sqltext.Alias) {
	switch {
	case c.by != "":
		c.bucket(b, t)
	case c.of.column.Name == "": // an id of several columns, or of none
		filter.KeyText(b, t, &c.of.column)
	case c.of.guard.Rule() != nil:
		c.of.readable(b, t)
	case c.of.column.Storage == descriptor.Decimal, c.of.column.Storage == descriptor.Day, c.of.column.Native != "":
		filter.Column(b, t, &c.of.column)
	default:
		b.Column(t, c.of.column.Name)
	}
}

// bucket appends the bucket that the column's time or day falls into.
func (c *column) bucket(b *sqltext.Builder, t sqltext.Alias) {
	if c.of.column.Storage == descriptor.Day {
		writeBetween(b, b.Dialect.DayBucket(c.by), func() { filter.Column(b, t, &c.of.column) })
		return
	}
	writeBetween(b, b.Dialect.Bucket(c.by, c.zone), func() { b.Column(t, c.of.column.Name) })
}

// readable appends a reference where what it refers to may be read, else null.
func (s *source) readable(b *sqltext.Builder, t sqltext.Alias) {
	r := b.NewAlias()
	b.Raw("CASE WHEN EXISTS (SELECT 1 FROM ").Name(s.target.Table).Raw(" AS ").Alias(r)
	b.Raw(" WHERE ").Column(r, s.target.Key.Name).Raw("=").Column(t, s.column.Name)
	appendRule(b, r, s.guard.Rule())
	b.Raw(") THEN ").Column(t, s.column.Name).Raw(" END")
}

// cells are where a statement's rows go: the JSON of a row without its last
// brace.
func (a *Aggregate) cells(out *[]byte) []any {
	dest := make([]any, len(a.columns))
	for i := range a.columns {
		c := &a.columns[i]
		made := newOutput(writeSeparators(i, "{"), &c.field, &c.inner)
		at := &cell{out: out, kind: made.kind, form: made.form, key: made.key, scale: made.scale, sum: c.call == sum || c.call == average}
		if at.sum {
			at.scale = 0
		}
		dest[i] = at
	}
	return dest
}

// dataFault names what data can do to an aggregate: sums that nothing holds, and values
// that are too long to be put in order.
func (a *Aggregate) dataFault(err error) error {
	if i, size, ok := boundError(err); ok {
		return a.columns[i].tooLongFault(size, err)
	}
	switch {
	case strings.Contains(err.Error(), errSum.Error()):
		return fault.New(fault.InvalidPayload, "a sum of integers exceeds 2^63").WithPath("/sum").
			WithHint("Narrow the filter, group more finely, or use avg.").Because(err)
	case strings.Contains(err.Error(), errFloatSum.Error()):
		return fault.New(fault.InvalidPayload, "a sum of floats exceeds 1.8e308").
			WithHint("Narrow the filter, or group more finely; avg computes a sum too.").Because(err)
	case strings.Contains(err.Error(), "time zone") && strings.Contains(err.Error(), "not recognized"):
		return fault.New(fault.CapabilityUnsupported, "the database server does not know this time zone").WithPath("/timeZone").
			WithHint("Its copy of the IANA database is older than the one here: name a zone of the same time that is older, or update the server.").Because(err)
	}
	return err
}

func (c *column) tooLongFault(size int, err error) error {
	path := map[call]string{group: "/groupBy", distinct: "/count/distinct"}[c.call]
	if path == "" {
		path = "/" + string(c.call)
	}
	return fault.Newf(fault.InvalidPayload, "a value of %s takes %d bytes; an aggregate groups and compares values of at most %d", filter.Quote(c.of.name), size, MaxValue).
		WithPath(path).WithHint("Aggregate a shorter field, or narrow the filter to rows with shorter values.").Because(err)
}

package read

import (
	"context"
	"errors"
	"strconv"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// maxParents is how many parents one statement reads relations for, so that the
// bound arguments stay below what SQLite takes (32,766).
const maxParents = 4096

// errOverflow reports that the relations of so many rows do not fit.
var errOverflow = errors.New("read: the relations pass the limit of a call")

// children are the rows of one relation, found by their parent.
type children struct {
	level *level
	heads map[any]int32 // parent (or reference) -> first row
	next  []int32       // row -> next row of the same parent, -1 for none
}

// relate reads the relations of the first n rows of a level, and theirs. budget
// is what is left for all of them together.
func (w *trees) relate(ctx context.Context, q Querier, l *level, n int, budget *int) error {
	own := 0
	for _, r := range l.reads.relations {
		ref := -1
		if r.owns() {
			ref, own = own, own+1
		}
		c := &children{level: &level{reads: r.reads, buf: getBuffer()}}
		l.children = append(l.children, c)
		parents := l.parents(n, ref)
		for len(parents) > 0 {
			some := parents[:min(len(parents), maxParents/max(1, len(l.reads.entity.Key.Parts)))]
			parents = parents[len(some):]
			if err := w.read(ctx, q, w.relatedRows(r, some), c.level, true, *budget); err != nil {
				return r.dataFault(err)
			}
			if c.level.cut {
				return errOverflow
			}
		}
		*budget -= c.level.size()
		c.chain()
		if err := w.relate(ctx, q, c.level, len(c.level.rows), budget); err != nil {
			return err
		}
	}
	return nil
}

// dataFault names what data can do to a relation: values that are too long to be put in order.
func (r *relation) dataFault(err error) error {
	i, size, ok := boundError(err)
	if !ok {
		return err
	}
	return fault.Newf(fault.CallTooLarge, "a value of %s takes %d bytes; a relationship with a limit is sorted by values of at most %d", filter.Quote(r.order[i].label()), size, MaxCursor).
		WithPath("/with").WithHint("Sort the relationship by a shorter field, or leave its limit out.").Because(err)
}

// parents are the distinct values that a relation is read for: keys of the rows,
// or with ref their references.
func (l *level) parents(n, ref int) []any {
	out := make([]any, 0, n)
	if ref < 0 && len(l.rows) > 0 && l.rows[0].parent == nil { // keys of the root are distinct
		for i := range n {
			out = append(out, l.rows[i].key)
		}
		return out
	}
	seen := make(map[any]struct{}, n)
	for i := range n {
		v := l.value(i, ref)
		if v == nil {
			continue
		}
		if _, ok := seen[v]; !ok {
			seen[v] = struct{}{}
			out = append(out, v)
		}
	}
	return out
}

// value is what a row is found by in a relation.
func (l *level) value(i, ref int) any {
	if ref < 0 {
		return l.rows[i].key
	}
	return l.refs[i*countOwned(l.reads)+ref]
}

// chain chains the rows of each parent in the order in which they were read.
func (c *children) chain() {
	rows := c.level.rows
	c.heads = make(map[any]int32, len(rows))
	c.next = make([]int32, len(rows))
	for i := len(rows) - 1; i >= 0; i-- {
		after, ok := c.heads[rows[i].parent]
		if !ok {
			after = -1
		}
		c.next[i] = after
		c.heads[rows[i].parent] = int32(i)
	}
}

// relatedRows is the statement for one relation of many parents.
func (w *trees) relatedRows(r *relation, parents []any) *sqltext.Builder {
	b := w.statements.builder()
	t := b.NewAlias()
	b.Raw("SELECT ").Raw(r.reads.layout.list(w.statements.dialect))
	references(b, t, r.reads)
	if r.limit > 0 {
		writeRanked(b, t, r, parents)
		return w.limitRows(b)
	}
	j := t
	if r.joins() {
		j = b.NewAlias()
	}
	b.Raw(",")
	r.parent(b, j)
	r.from(b, t, j, parents)
	orderBy(b, t, r.order)
	return w.limitRows(b)
}

// limitRows ends a statement for a relation: more rows would not fit a call anyway. SQLite
// keeps what it sorts in a tree that goes to a file where there is a limit; without one it
// merges runs, and holds a row of each of them.
func (w *trees) limitRows(b *sqltext.Builder) *sqltext.Builder {
	return b.Raw(" LIMIT ").Arg(int64(relationsFactor*w.bounds.limit()/rowBytes + 1))
}

// writeRanked reads at most limit rows per parent: ranks by key first, so that the
// sorter carries keys instead of rows.
func writeRanked(b *sqltext.Builder, t sqltext.Alias, r *relation, parents []any) {
	if r.reads.entity.Key.Absent() {
		writeRankedWhole(b, t, r, parents)
		return
	}
	inner, w := b.NewAlias(), b.NewAlias()
	j := inner
	if r.joins() {
		j = b.NewAlias()
	}
	b.Raw(",").Alias(w).Raw(".p FROM (SELECT ")
	keys := keyColumns(&r.reads.entity.Key)
	for i, name := range keys {
		b.Column(inner, name).Raw(" AS k" + strconv.Itoa(i) + ",")
	}
	r.parent(b, j)
	b.Raw(" AS p,row_number() OVER (PARTITION BY ")
	r.parent(b, j)
	orderBy(b, inner, r.order)
	for i, o := range r.order { // whose values stand beside each other, as in groups
		if c := o.column; c != nil && isUnbounded(o.entity(r.reads.entity).Resource.Field(c.Field), c, MaxCursor) {
			b.Raw(",")
			o.reach(b, inner, func(a sqltext.Alias) { boundLength(b, a, c, MaxCursor, i) })
		}
	}
	b.Raw(") AS n")
	r.from(b, inner, j, parents)
	b.Raw(") AS ").Alias(w).Raw(" JOIN ").Name(r.reads.entity.Table).Raw(" AS ").Alias(t)
	b.Raw(" ON ")
	for i, name := range keys {
		if i > 0 {
			b.Raw(" AND ")
		}
		b.Column(t, name).Raw("=").Alias(w).Raw(".k" + strconv.Itoa(i))
	}
	b.Raw(" WHERE ").Alias(w).Raw(".n<=").Arg(int64(r.limit)).Raw(" ORDER BY ").Alias(w).Raw(".n")
}

// writeRankedWhole is writeRanked of rows that no key finds again.
func writeRankedWhole(b *sqltext.Builder, t sqltext.Alias, r *relation, parents []any) {
	const parent, rank = "koan parent", "koan rank" // beside the columns of the table
	inner := b.NewAlias()
	j := inner
	if r.joins() {
		j = b.NewAlias()
	}
	b.Raw(",").Column(t, parent).Raw(" FROM (SELECT ").Alias(inner).Raw(".*,")
	r.parent(b, j)
	b.Raw(" AS ").Name(parent).Raw(",row_number() OVER (PARTITION BY ")
	r.parent(b, j)
	orderBy(b, inner, r.order)
	b.Raw(") AS ").Name(rank)
	r.from(b, inner, j, parents)
	b.Raw(") AS ").Alias(t).Raw(" WHERE ").Column(t, rank).Raw("<=").Arg(int64(r.limit)).Raw(" ORDER BY ").Column(t, rank)
}

// keyColumns are the columns of a key.
func keyColumns(key *descriptor.Column) []string {
	if len(key.Parts) == 0 {
		return []string{key.Name}
	}
	out := make([]string, len(key.Parts))
	for i := range key.Parts {
		out[i] = key.Parts[i].Name
	}
	return out
}

// joins reports whether another table than the target's has the parents: a join table or, where several
// columns relate the two, their own.
func (r *relation) joins() bool { return r.edge.JoinTable != "" || len(r.edge.On) > 0 }

// parent appends what says which parent a row belongs to: a column of the join table, or of the
// target's, or the parents' key.
func (r *relation) parent(b *sqltext.Builder, j sqltext.Alias) {
	switch {
	case r.edge.JoinTable != "":
		b.Column(j, r.edge.JoinOwn)
	case len(r.edge.On) > 0:
		filter.KeyText(b, j, &r.own.Key)
	case r.owns():
		b.Column(j, r.reads.entity.Key.Name)
	default:
		b.Column(j, r.edge.TargetKey)
	}
}

// from appends FROM and WHERE: the target as t, and j as the table that has the
// parents.
func (r *relation) from(b *sqltext.Builder, t, j sqltext.Alias, parents []any) {
	target := r.reads.entity
	b.Raw(" FROM ").Name(target.Table).Raw(" AS ").Alias(t)
	switch {
	case r.edge.JoinTable != "":
		b.Raw(" JOIN ").Name(r.edge.JoinTable).Raw(" AS ").Alias(j)
		b.Raw(" ON ").Column(j, r.edge.JoinTarget).Raw("=").Column(t, target.Key.Name)
	case len(r.edge.On) > 0:
		b.Raw(" JOIN ").Name(r.own.Table).Raw(" AS ").Alias(j).Raw(" ON ")
		filter.Joined(b, j, t, r.edge.On)
	}
	b.Raw(" WHERE ")
	if len(r.edge.On) > 0 {
		filter.KeyIn(b, j, &r.own.Key, parents)
	} else {
		r.parent(b, j)
		b.Raw(" IN (").List(parents).Raw(")")
	}
	if !r.filter.Empty() {
		b.Raw(" AND ")
		r.filter.Where(b, t)
	}
}

package read

import (
	"context"
	"errors"
	"slices"
)

// assembly is the JSON of a call while rows and their relations are joined.
type assembly struct {
	out     []byte
	limit   int
	weighed int   // bytes of out
	weight  int64 // what scripts take for these
	first   bool  // no row precedes it: callers other than scripts may read it, whatever it weighs
}

// tailBytes is about what follows the items of a page.
const tailBytes = 1 << 10

// bytes returns the JSON in memory of its own.
func (a *assembly) bytes() []byte {
	if cap(a.out) > maxPooled {
		return a.out
	}
	out := make([]byte, len(a.out))
	copy(out, a.out)
	putBuffer(a.out)
	return out
}

// items reads the relations of the root's rows and appends the rows with them,
// as many as fit. It returns how many that are.
func (w *trees) items(ctx context.Context, q Querier, a *assembly, root *level) (int, error) {
	n, err := w.relateFitting(ctx, q, root)
	if err != nil {
		return 0, err
	}
	if n > 0 && len(root.reads.relations) == 0 {
		a.out = slices.Grow(a.out, min(root.rows[n-1].end+2*n+tailBytes, a.limit))
	}
	for i := range n {
		mark := len(a.out)
		if a.first = i == 0; !a.first {
			a.out = append(a.out, ',')
		}
		if !a.row(root, i) {
			a.out = a.out[:mark]
			if i == 0 {
				return 0, tooLargeFault(root.reads.entity)
			}
			return i, nil
		}
	}
	return n, nil
}

// relationsFactor is how many times the limit of a call its rows of relations may take in
// memory. Their JSON has to fit the limit itself.
const relationsFactor = 2

// relateFitting reads relations for as many of the root's rows as have room: for all,
// else for half of them, and so on.
func (w *trees) relateFitting(ctx context.Context, q Querier, root *level) (int, error) {
	n := len(root.rows)
	for n > 0 && len(root.reads.relations) > 0 {
		budget := relationsFactor*w.bounds.limit() - root.rows[n-1].end
		err := w.relate(ctx, q, root, n, &budget)
		if err == nil {
			break
		}
		if !errors.Is(err, errOverflow) {
			return 0, err
		}
		for _, c := range root.children {
			c.level.release()
		}
		root.children = root.children[:0]
		if n == 1 {
			return 0, tooLargeFault(root.reads.entity)
		}
		n /= 2
	}
	return n, nil
}

// row appends one row with its relations; false when the limit is passed. The
// limit is checked at every row, since rows shared by many parents multiply.
func (a *assembly) row(l *level, i int) bool {
	r := &l.rows[i]
	a.out = append(a.out, l.buf[r.start:r.end]...)
	if !a.fits() {
		return false
	}
	own := 0
	for at, rel := range l.reads.relations {
		ref := -1
		if rel.owns() {
			ref, own = own, own+1
		}
		c := l.children[at]
		a.out = append(a.out, rel.key...)
		child, ok := int32(-1), false
		if v := l.value(i, ref); v != nil {
			child, ok = c.heads[v]
		}
		if !rel.many {
			if !ok {
				a.out = append(a.out, "null"...)
			} else if !a.row(c.level, int(child)) {
				return false
			}
			continue
		}
		if !a.list(c, child, ok) {
			return false
		}
	}
	a.out = append(a.out, '}')
	return true
}

// fits reports whether what there is so far is within the limit of a call. It ends outside of strings.
func (a *assembly) fits() bool {
	if len(a.out) > a.limit {
		return false
	}
	if len(a.out) > lightBytes {
		a.weight += held.Of(a.out[a.weighed:])
		a.weighed = len(a.out)
	}
	return a.first || a.weight <= maxPageWeight(a.limit)
}

func (a *assembly) list(c *children, child int32, ok bool) bool {
	a.out = append(a.out, '[')
	for first := true; ok && child >= 0; child, first = c.next[child], false {
		if !first {
			a.out = append(a.out, ',')
		}
		if !a.row(c.level, int(child)) {
			return false
		}
	}
	a.out = append(a.out, ']')
	return true
}

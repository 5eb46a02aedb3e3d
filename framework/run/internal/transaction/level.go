package transaction

import "context"

// Level is what a nested call writes. It has a savepoint in each transaction of the group that
// writes, so that the whole of it can be kept or undone.
type Level struct{ ends []func(ok bool) error }

// Enter opens a level: writes belong to it until Leave. Transactions that start to write meanwhile
// join it.
func (g *Group) Enter(ctx context.Context) (*Level, error) {
	l := &Level{}
	for _, t := range g.open {
		if !t.written { // it has nothing to undo
			continue
		}
		if err := l.mark(ctx, t); err != nil {
			_ = l.Close(false)
			return nil, err
		}
	}
	g.levels = append(g.levels, l)
	return l, nil
}

// Leave ends the innermost level, which remains to be closed unless all transactions are rolled
// back.
func (g *Group) Leave() { g.levels = g.levels[:len(g.levels)-1] }

// Nested reports whether a level is open.
func (g *Group) Nested() bool { return len(g.levels) > 0 }

// mark opens the level's savepoint in a transaction that writes.
func (l *Level) mark(ctx context.Context, t *Transaction) error {
	end, err := t.Savepoint(ctx, false)
	if err != nil {
		return err
	}
	l.ends = append(l.ends, end)
	return nil
}

// Close releases the savepoints, or rolls back to them, the last one first. It returns the first
// error.
func (l *Level) Close(ok bool) error {
	var first error
	for i := len(l.ends) - 1; i >= 0; i-- {
		if err := l.ends[i](ok); err != nil && first == nil {
			first = err
		}
	}
	return first
}

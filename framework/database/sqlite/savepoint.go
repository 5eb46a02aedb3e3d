package sqlite

import (
	"context"
	"strconv"
	"strings"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/run/store"
)

// savepoint is one that waits: it is opened before the first statement inside of it
// that may write and is not alone. Most calls that write make one statement, which
// leaves nothing behind where it fails.
type savepoint struct {
	open bool
	bare bool // something was written before it was open
}

// Savepoint opens a savepoint; end releases it, or rolls back to it. Reading
// leaves nothing behind, so only a writing transaction needs one. Where something
// was written that cannot be taken back alone, end is store.ErrStale: the attempt goes,
// and in the next one no savepoint waits.
func (t *Tx) Savepoint(ctx context.Context, read bool) (end func(ok bool) error, err error) {
	if t.state != writing || read {
		return func(bool) error { return nil }, nil
	}
	t.saves = append(t.saves, savepoint{})
	depth := len(t.saves)
	if t.careful {
		if err := t.openPendingSavepoints(ctx); err != nil {
			t.saves = t.saves[:depth-1]
			return nil, err
		}
	}
	return func(ok bool) error {
		s := t.saves[depth-1]
		t.saves = t.saves[:depth-1]
		return t.closeSavepoint(context.WithoutCancel(ctx), s, name(depth), ok)
	}, nil
}

func name(depth int) string { return "koan_" + strconv.Itoa(depth) }

func (t *Tx) closeSavepoint(ctx context.Context, s savepoint, name string, ok bool) error {
	if s.open && t.state != ended && t.lost == nil {
		if !ok {
			if _, err := t.conn.ExecContext(ctx, "ROLLBACK TO "+name); err != nil {
				return err
			}
		}
		if _, err := t.conn.ExecContext(ctx, "RELEASE "+name); err != nil {
			return err
		}
	}
	if s.bare && !ok {
		return store.ErrStale
	}
	return nil
}

// openPendingSavepoints opens the savepoints that wait.
func (t *Tx) openPendingSavepoints(ctx context.Context) error {
	for i := range t.saves {
		if s := &t.saves[i]; !s.open {
			if _, err := t.conn.ExecContext(context.WithoutCancel(ctx), "SAVEPOINT "+name(i+1)); err != nil {
				return err
			}
			s.open = true
		}
	}
	return nil
}

// guardStatement opens the savepoints that wait before a statement, unless it only reads
// or is alone.
func (t *Tx) guardStatement(ctx context.Context, query string) error {
	if t.alone || len(t.saves) == 0 || strings.HasPrefix(query, "SELECT ") {
		return nil
	}
	return t.openPendingSavepoints(ctx)
}

// Alone implements database.Tx. It omits the savepoint around a call, and none that
// is inside of it.
func (t *Tx) Alone(statement func() (wrote bool, err error)) error {
	t.alone = len(t.saves) == 1 && !t.saves[0].open
	defer func() { t.alone = false }()
	wrote, err := statement()
	if t.alone && (err == nil && wrote || err != nil && !hasUndoneItself(err)) {
		t.saves[0].bare = true
	}
	return err
}

// hasUndoneItself reports whether a statement of one row that ended in an error has undone
// itself, as it does where it breaks a constraint. A trigger may end it half way; and
// what could not be read of the row was written.
func hasUndoneItself(err error) bool {
	f, ok := sqlitedriver.FailureOf(err)
	return ok && f.Code == sqlitedriver.Constraint && f.Extended != sqlitedriver.ConstraintTrigger
}

package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"time"

	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// Short writes that wait for each other are committed together: one write to the disk instead of one
// for each. A transaction that ends while another one waits in this process's queue passes its
// connection on to it, as it is, and waits; the last one commits for all. Each but the first
// has a savepoint around it, which is released where it ends well.
//
// None is reported as committed before the commit. Where that fails, or SQLite rolls everything back in
// the middle, those that waited begin again, alone.

// group is a transaction of SQLite that transactions of runs share.
type group struct {
	until   time.Time // when nobody joins any more
	members int       // that wait for the commit
	done    chan struct{}
	err     error // of the commit; set before done is closed
}

const (
	// maxMembers and longestGroup bound how long the first of a group waits for the others.
	maxMembers   = 64
	longestGroup = 5 * time.Millisecond

	groupSavepoint = "koan_member"
)

// full reports whether no other transaction may join the group.
func (g *group) full() bool { return g.members >= maxMembers || time.Now().After(g.until) }

// end wakes the members with the error of the commit. It does nothing without a group.
func (g *group) end(err error) {
	if g != nil {
		g.err = err
		close(g.done)
	}
}

// writerConn returns the writer connection, which all writers share: its cache holds the pages that the
// last one has changed. Only the holder of the queue's lock may use it.
func (d *Database) writerConn(ctx context.Context) (*sql.Conn, error) {
	if d.writer == nil {
		c, err := d.runs.Conn(ctx)
		if err != nil {
			return nil, err
		}
		d.writer = c
	}
	return d.writer, nil
}

// dropWriter closes the writer connection, whose state is not known.
func (d *Database) dropWriter() {
	if d.writer != nil {
		_ = d.writer.Raw(func(any) error { return driver.ErrBadConn })
		_ = d.writer.Close()
		d.writer = nil
	}
}

// closeWriter returns the writer connection to the pool. No transaction may be writing.
func (d *Database) closeWriter() {
	if d.writer != nil {
		_ = d.writer.Close()
		d.writer = nil
	}
}

// beginShared begins a transaction on the writer connection, inside the group g unless that is nil. The
// caller holds the lock, which beginShared releases if it fails.
func (d *Database) beginShared(ctx context.Context, g *group) (*sql.Conn, error) {
	c, err := d.writerConn(ctx)
	if err == nil && g != nil {
		_, err = c.ExecContext(context.WithoutCancel(ctx), "SAVEPOINT "+groupSavepoint)
	} else if err == nil {
		err = d.busyFault(beginImmediate(ctx, c))
	}
	if err != nil {
		if g == nil && fault.CodeOf(err) != fault.SetBusy {
			d.dropWriter() // it may be of no use, or have begun although it was cancelled
		}
		d.proceed(g)
		return nil, err
	}
	return c, nil
}

func beginImmediate(ctx context.Context, c *sql.Conn) error {
	return retryWhileLocked(ctx, func() error {
		_, err := c.ExecContext(ctx, "BEGIN IMMEDIATE")
		return err
	})
}

// proceed goes on after a member of a group that left nothing behind, or after a writer without one: the
// next one joins, or what is there is committed.
func (d *Database) proceed(g *group) {
	if g != nil {
		if !g.full() && d.queue.pass(g) {
			return
		}
		_ = d.commitGroup(g)
	}
	d.unlock()
}

// commitGroup commits what the members of a group have written, and tells them. The error is the
// database's, or store.ErrStale where others have written, too, who begin again: it may be theirs.
func (d *Database) commitGroup(g *group) error {
	_, err := d.writer.ExecContext(context.Background(), "COMMIT")
	if err == nil {
		g.end(nil)
		return nil
	}
	if g == nil {
		return err
	}
	d.discard()
	g.end(store.ErrStale)
	return store.ErrStale
}

// discard rolls back the open transaction of the writer connection, if there is one.
func (d *Database) discard() {
	if sqlitedriver.InAutocommit(d.writer) {
		return
	}
	if _, err := d.writer.ExecContext(context.Background(), "ROLLBACK"); err != nil && !sqlitedriver.InAutocommit(d.writer) {
		d.dropWriter() // whatever state it is in, nobody else must get it
	}
}

// commitShared commits a transaction on the writer connection. A failed COMMIT of a
// transaction that is nobody else's leaves it open for a rollback.
func (t *Tx) commitShared() error {
	if t.group != nil {
		if _, err := t.conn.ExecContext(context.Background(), "RELEASE "+groupSavepoint); err != nil {
			return err
		}
	}
	if t.short && t.d.draft == nil {
		if g := t.d.oneMore(t.group); g != nil && t.d.queue.pass(g) {
			t.leave()
			<-g.done
			return g.err
		}
	}
	err := t.d.commitGroup(t.group)
	if err == nil || t.group != nil {
		t.leave()
		t.d.unlock()
	}
	return err
}

// oneMore returns a group with one member more, or a new one; nil for one that is full.
func (d *Database) oneMore(g *group) *group {
	if g == nil {
		g = &group{until: time.Now().Add(d.longestGroup), done: make(chan struct{})}
	}
	if g.full() {
		return nil
	}
	g.members++
	return g
}

// rollbackShared rolls back a transaction on the writer connection.
func (t *Tx) rollbackShared() {
	d, g, lost := t.d, t.group, t.lost != nil
	t.leave()
	if g != nil && !lost {
		_, err := d.writer.ExecContext(context.Background(), "ROLLBACK TO "+groupSavepoint)
		if err == nil {
			_, err = d.writer.ExecContext(context.Background(), "RELEASE "+groupSavepoint)
		}
		if err == nil {
			d.proceed(g)
			return
		}
	}
	d.discard()
	g.end(store.ErrStale)
	d.unlock()
}

// leave ends the transaction and gives up the writer connection, which others use from then on.
func (t *Tx) leave() { t.state, t.conn, t.queued = ended, nil, false }

// Apart implements database.Grouped.
func (t *Tx) Apart(ctx context.Context) error {
	t.short = false
	if t.state != writing || t.group == nil || len(t.saves) > 1 || len(t.saves) == 1 && (t.saves[0].open || t.saves[0].bare) {
		return nil
	}
	err := t.d.commitGroup(t.group)
	t.group = nil
	if err == nil {
		err = beginImmediate(context.WithoutCancel(ctx), t.conn)
	}
	if err != nil { // nothing is open
		t.lost = store.ErrStale
	}
	return t.lost
}

// noteLoss notes that SQLite has rolled the whole transaction back where a statement failed, as it does
// for a full disk, say. What came after it would not be part of one.
func (t *Tx) noteLoss(err error) {
	if err != nil && t.state == writing && t.lost == nil && sqlitedriver.InAutocommit(t.conn) {
		t.lost = err
	}
}

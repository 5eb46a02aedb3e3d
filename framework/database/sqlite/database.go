// Package sqlite keeps sets in SQLite files: one file per set in a folder, opened
// at first use, with a fair queue for its writers and transactions that begin as
// readers.
//
// What belongs here: files, connections, locks and transactions. Not here:
// entities, ent's builders, or what the tables mean.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

const (
	busyTimeout = 5 * time.Second        // how long who takes no turns may hold the file
	busyStep    = 200 * time.Millisecond // how long SQLite waits by itself, deaf to cancels
	patience    = 20 * time.Second       // how long a writer waits for those before it
	maxWaiters  = 128                    // in a process
	idleConns   = 4
	statements  = 128 // prepared statements that each connection keeps
)

// Database is one open set. It is safe for concurrent use.
type Database struct {
	set   string
	sync  Sync
	db    *sql.DB // for what is not part of a run
	runs  *sql.DB // for transactions of runs, which hear cancels while they wait
	queue queue   // of this process's writers
	turns turns   // of all processes'
	// writer is the connection that transactions write over that have not read before; nil
	// until the first one. It belongs to who holds the queue's lock.
	writer       *sql.Conn
	longestGroup time.Duration

	file  atomic.Pointer[string] // where new connections lead
	draft *Draft                 // nil for a set that exists

	identity os.FileInfo  // of the file as it was opened; nil where that is not known
	checked  atomic.Int64 // when the file was found to be that one, in nanoseconds; 0 if it was not
}

// open opens a set's file; turns is where its processes take turns, "" where there is
// only one.
func open(path, set, turns string, sync Sync) *Database {
	d := &Database{set: set, sync: sync, queue: queue{max: maxWaiters, patience: patience}, turns: newTurns(turns), longestGroup: longestGroup}
	d.file.Store(&path)
	d.identity, _ = os.Stat(path)
	d.db, d.runs = sql.OpenDB(connector{d, busyTimeout}), sql.OpenDB(connector{d, busyStep})
	d.runs.SetMaxIdleConns(idleConns)
	return d
}

// connector connects to where a database's file lies now: that of a draft moves when
// its set comes into being.
type connector struct {
	d    *Database
	busy time.Duration
}

// Connect implements driver.Connector.
func (c connector) Connect(context.Context) (driver.Conn, error) {
	conn, err := sqlitedriver.Connect(dsn(*c.d.file.Load(), c.busy, c.d.sync, "_journal_mode=WAL"))
	if err != nil {
		return nil, cmp.Or(c.d.checkSameFile(), err)
	}
	return conn, nil
}

// Driver implements driver.Connector.
func (c connector) Driver() driver.Driver { return sqlitedriver.Driver() }

// Sync says which commits outlive a loss of power.
type Sync string

// The modes, in SQLite's words (sqlite.org/pragma.html#pragma_synchronous). The drivers' own
// defaults differ, so each connection names its mode.
const (
	SyncFull   Sync = "FULL"   // each commit, before it returns
	SyncNormal Sync = "NORMAL" // all before the last checkpoint
	syncOff    Sync = "OFF"    // none: for a file that nobody knows yet
)

// dsn names a file with the settings that every connection has. SQLite does not create the file:
// one that was taken away while the app has it open must not come back empty.
func dsn(path string, busy time.Duration, sync Sync, more ...string) string {
	s := fmt.Sprintf("file:%s?mode=rw&_foreign_keys=1&_txlock=immediate&_busy_timeout=%d&_stmt_cache_size=%d&_synchronous=%s",
		(&url.URL{Path: path}).EscapedPath(), busy.Milliseconds(), statements, sync)
	for _, m := range more {
		s += "&" + m
	}
	return s
}

// Set implements database.Database.
func (d *Database) Set() string { return d.set }

func (d *Database) close() error {
	d.closeWriter()
	return errors.Join(d.db.Close(), d.runs.Close(), d.turns.close())
}

// Stale reports whether an error means that a reading transaction cannot become a
// writing one any more, because the data has moved on or somebody else writes.
func Stale(err error) bool {
	f, ok := sqlitedriver.FailureOf(err)
	return ok && f.Code == sqlitedriver.Busy
}

// retryWhileLocked repeats fn while somebody outside of the host's queue holds the file,
// in steps between which a cancel is heard.
func retryWhileLocked(ctx context.Context, fn func() error) error {
	for deadline := time.Now().Add(busyTimeout); ; {
		err := fn()
		if !Stale(err) || ctx.Err() != nil || time.Now().After(deadline) {
			return err
		}
	}
}

// lock takes the host's write lock: in this process in the order of arrival, and then
// its turn among the processes. Who is short may get it with a group to join. It ends in set_busy where
// that takes too long.
func (d *Database) lock(ctx context.Context, short bool) (*group, error) {
	until := time.Now().Add(patience)
	g, err := d.queue.lock(ctx, d.set, short)
	if err != nil || g != nil { // the group's process has its turn
		return g, err
	}
	in, err := d.turns.wait(ctx, until)
	err = d.lockFileFault(err)
	if err == nil && !in {
		err = fault.Newf(fault.SetBusy, "other processes are writing to the set %q, and it was not free within %s", d.set, patience)
	}
	if err != nil {
		d.queue.unlock()
	}
	return nil, err
}

// tryLock takes the host's write lock where nobody has it or waits for it, and otherwise returns
// store.ErrStale.
func (d *Database) tryLock() error {
	if !d.queue.try() {
		return store.ErrStale
	}
	in, err := d.turns.try()
	err = d.lockFileFault(err)
	if err == nil && !in {
		err = store.ErrStale
	}
	if err != nil {
		d.queue.unlock()
	}
	return err
}

// lockFileFault turns what stands between a set and the files of its turns into the fault
// that it is.
func (d *Database) lockFileFault(err error) error {
	var path *fs.PathError
	if !errors.As(err, &path) {
		return err
	}
	return fault.Newf(fault.ServiceUnavailable, "the set %q cannot be written: %v", d.set, path.Err).
		WithHint("Check that files can be created in the data folder, and the limit of open files of the process.").Because(err)
}

func (d *Database) unlock() {
	d.turns.end()
	d.queue.unlock()
}

// busyFault turns SQLITE_BUSY into the fault that it is.
func (d *Database) busyFault(err error) error {
	if Stale(err) {
		return fault.Newf(fault.SetBusy, "another process has locked the set %q for writing", d.set).Because(err)
	}
	return err
}

// Begin implements database.Database. With write it takes the write lock at once.
func (d *Database) Begin(ctx context.Context, a store.Attempt, write bool) (database.Tx, error) {
	if !write { // Write checks it
		if err := d.checkRecently(); err != nil {
			return nil, err
		}
	}
	first := a != nil && a.Number() == 1
	// A first attempt that is known to write is one operation.
	t := &Tx{d: d, careful: !first, short: first && write}
	if write {
		if err := t.Write(ctx); err != nil {
			_ = t.Rollback(ctx)
			return nil, err
		}
	}
	return t, nil
}

package ledger

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"math"
	"strconv"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// A transaction on PostgreSQL that is about to commit holds two locks until it is over and visible:
// one that it shares with all others of its set, from before it takes its position, and one that
// names the position. Whoever reads the log looks at these locks, and waits for nobody: what lies
// below the lowest position that is held is settled. No transaction waits for another one.

// positionLock is the first half of the key of the lock that says that a transaction is about to
// take a position; the second half is the table's id. Both together are the upper half of the key
// of the lock that names the position.
const positionLock = 0x6b6f616e

var (
	// takesPosition is a row that is there once the first lock is held: the subquery is never
	// flattened, and positions are taken row by row.
	takesPosition = "(SELECT pg_advisory_xact_lock_shared(" + strconv.Itoa(positionLock) + ", CAST('koan_changes'::regclass::oid AS INTEGER)) OFFSET 0) AS about"
	// hasPosition takes the second lock.
	hasPosition = "pg_advisory_xact_lock((" + positionKey + " << 32) | (position & 4294967295))"
	positionKey = "(CAST('koan_changes'::regclass::oid AS BIGINT) # " + strconv.Itoa(positionLock) + ")"

	// heldPositions returns the last position that is visible and, taken later, each lock of those
	// that may have an earlier one: its process, whether it names a position, and the lower half
	// of that.
	heldPositions = "SELECT log.last, held.pid, held.objsubid = 1, CAST(held.objid AS BIGINT) " +
		"FROM (SELECT COALESCE(max(position), 0) AS last FROM koan_changes) AS log " +
		"LEFT JOIN pg_locks AS held ON held.locktype = 'advisory' AND held.granted " +
		"AND held.database = (SELECT oid FROM pg_database WHERE datname = current_database()) " +
		"AND (held.objsubid = 2 AND held.classid = " + strconv.Itoa(positionLock) + " AND held.objid = 'koan_changes'::regclass::oid " +
		"OR held.objsubid = 1 AND CAST(held.classid AS BIGINT) = " + positionKey + ")"
)

// Bounds of waiting for transactions that are about to take a position, which takes them less than
// a millisecond unless their process does not get to run.
const (
	firstPause = time.Millisecond
	lastPause  = 256 * time.Millisecond
)

// errUnsettled is what is returned then: nobody may pass the position that is about to be taken.
var errUnsettled = fault.New(fault.ServiceUnavailable, "the changes cannot be read now: a transaction is about to take its position among them, and does not go on").
	WithHint("Try again. If that does not end, look for a session of the database that stands still.")

// Settled returns a position at which, and before which, no commit will ever be seen that is not
// seen already.
func Settled(ctx context.Context, d sqltext.Dialect, q Querier) (int64, error) {
	if d.Name() == dialect.SQLite {
		return math.MaxInt64, nil // there is one writer
	}
	return settled(ctx, q)
}

func settled(ctx context.Context, q Querier) (int64, error) {
	for pause := firstPause; ; pause *= 2 {
		last, about, err := lookAtPositions(ctx, q)
		if err != nil || !about {
			return last, err
		}
		if pause > lastPause {
			return 0, errUnsettled
		}
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(pause):
		}
	}
}

// lookAtPositions returns up to where the log is settled, unless a transaction is about to take a
// position.
func lookAtPositions(ctx context.Context, q Querier) (_ int64, about bool, err error) {
	rows, err := q.QueryContext(ctx, heldPositions)
	if err != nil {
		return 0, false, fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	named, last := map[int64]bool{}, int64(math.MaxInt64) // by process: whether it has its position
	for rows.Next() {
		var visible int64
		var pid, low sql.NullInt64
		var names sql.NullBool
		if err := rows.Scan(&visible, &pid, &names, &low); err != nil {
			return 0, false, fmt.Errorf("ledger: %w", err)
		}
		last = min(last, visible)
		switch {
		case !pid.Valid:
		case names.Bool:
			named[pid.Int64] = true
			// The lower half is enough to tell which position near the last one it is.
			last = min(last, visible+int64(int32(uint32(low.Int64)-uint32(visible)))-1)
		case !named[pid.Int64]:
			named[pid.Int64] = false
		}
	}
	for _, has := range named {
		about = about || !has
	}
	return last, about, rows.Err()
}

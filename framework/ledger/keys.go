package ledger

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/framework/run/once"
)

// KeyTables make the tables of runs with an idempotency key, where they are
// missing. They are the app's and stand in no set. Times are milliseconds since
// 1970 by the database's clock, the same for all processes.
func KeyTables(d sqltext.Dialect) []string {
	return append(slices.Clone(keyTables), withColumn(d, "koan_keys", "scope", "TEXT"), withColumn(d, "koan_keys", "receipts", "INTEGER NOT NULL DEFAULT 0"))
}

var keyTables = []string{
	`CREATE TABLE IF NOT EXISTS koan_keys (
	run TEXT NOT NULL PRIMARY KEY,
	subject TEXT NOT NULL,
	operation TEXT NOT NULL,
	idempotency_key TEXT NOT NULL,
	fingerprint TEXT NOT NULL,
	holder TEXT NOT NULL,
	lease_until BIGINT NOT NULL,
	ended INTEGER NOT NULL,
	claimed_at BIGINT NOT NULL,
	touched_at BIGINT NOT NULL,
	tape_now BIGINT NOT NULL,
	tape_seed TEXT NOT NULL,
	sets TEXT NOT NULL,
	reply TEXT,
	fault TEXT,
	UNIQUE (subject, operation, idempotency_key)
)`,
	`CREATE INDEX IF NOT EXISTS koan_keys_touched ON koan_keys (touched_at)`,
	`CREATE TABLE IF NOT EXISTS koan_intents (
	run TEXT NOT NULL,
	position TEXT NOT NULL,
	digest TEXT NOT NULL,
	sequence INTEGER NOT NULL,
	operation TEXT NOT NULL,
	closed INTEGER NOT NULL,
	kept INTEGER NOT NULL,
	output TEXT,
	fault TEXT,
	at BIGINT NOT NULL,
	PRIMARY KEY (run, position, digest)
)`,
}

// Keys is the ledger of runs with an idempotency key. Each method is a transaction
// of its own. It is safe for concurrent use, by several processes too.
type Keys struct{ place }

// NewKeys returns the ledger in a database that has KeyTables. On SQLite its
// transactions must begin with the write lock.
func NewKeys(db *sql.DB, d sqltext.Dialect) *Keys { return &Keys{place{db: db, dialect: d}} }

// exec runs a statement and returns how many rows it touched.
func exec(ctx context.Context, tx *sql.Tx, b *sqltext.Builder) (int64, error) {
	r, err := tx.ExecContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return 0, err
	}
	return r.RowsAffected()
}

// heldUpdate runs a change of a run's row that only its holder may make.
func heldUpdate(ctx context.Context, tx *sql.Tx, b *sqltext.Builder, h once.Hold) error {
	n, err := exec(ctx, tx, b.Raw(" WHERE run = ").Arg(h.Run).Raw(" AND holder = ").Arg(Marked(h.Holder)))
	if err == nil && n == 0 {
		err = run.ErrLost
	}
	return err
}

// Claim implements once.Ledger, but forgets nothing.
func (k *Keys) Claim(ctx context.Context, c once.Claim) (st once.Standing, err error) {
	for range 10 {
		st, err = k.claim(ctx, c)
		if !errors.Is(err, sql.ErrNoRows) { // else the key was freed between two looks at it
			break
		}
	}
	return st, err
}

func (k *Keys) claim(ctx context.Context, c once.Claim) (st once.Standing, err error) {
	err = k.durably(ctx, func(tx *sql.Tx) error {
		b := k.statement("INSERT INTO koan_keys (run, subject, operation, idempotency_key, fingerprint, holder, lease_until, ended, claimed_at, touched_at, tape_now, tape_seed, sets) VALUES (")
		for _, v := range []any{c.Run, c.Subject, c.Operation, c.Key, c.Fingerprint, Marked(c.Holder)} {
			b.Arg(v).Raw(", ")
		}
		b.Raw(k.clock() + " + ").Arg(c.Lease.Milliseconds()).Raw(", 0, " + k.clock() + ", " + k.clock() + ", ").Arg(c.Now.UnixMilli()).Raw(", ").
			Arg(strconv.FormatUint(c.Seed, 10)).Raw(", '[]') ON CONFLICT DO NOTHING") // of the run neither: approvers of one plan claim it at once
		n, err := exec(ctx, tx, b)
		if err != nil {
			return err
		}
		if n == 1 {
			st = once.Standing{State: once.Held, Run: c.Run, New: true}
			return nil
		}
		st, err = k.standing(ctx, tx, c)
		return err
	})
	return st, err
}

// standing returns how things stand with a key that somebody claimed before, and
// takes it over where its holder's lease has run out.
func (k *Keys) standing(ctx context.Context, tx *sql.Tx, c once.Claim) (st once.Standing, err error) {
	lock := ""
	if k.dialect.Name() != dialect.SQLite {
		lock = " FOR UPDATE"
	}
	b := k.statement("SELECT run, fingerprint, holder, lease_until < " + k.clock() + ", ended, claimed_at, tape_now, tape_seed, sets, scope, reply, fault, receipts FROM koan_keys WHERE subject = ").
		Arg(c.Subject).Raw(" AND operation = ").Arg(c.Operation).Raw(" AND idempotency_key = ").Arg(c.Key).Raw(lock)
	var fingerprint, holder, seed, sets string
	var scope, reply, failed sql.NullString
	var over bool
	var ended int
	var claimed, now int64
	err = tx.QueryRowContext(ctx, string(b.Text()), b.Args()...).Scan(&st.Run, &fingerprint, &holder, &over, &ended, &claimed, &now, &seed, &sets, &scope, &reply, &failed, &st.Receipts)
	if err != nil {
		return st, err
	}
	st.Since = time.UnixMilli(claimed)
	switch {
	case fingerprint != c.Fingerprint:
		st.State = once.Other
		return st, nil
	case ended == 0 && holder != "" && !over && !k.hasEnded(holder):
		st.State = once.Running
		return st, nil
	}
	if err := json.Unmarshal([]byte(sets), &st.Sets); err != nil {
		return st, err
	}
	if scope.Valid {
		if err := json.Unmarshal([]byte(scope.String), &st.Scope); err != nil {
			return st, err
		}
	}
	if ended != 0 {
		st.State, st.Reply = once.Ended, raw(reply)
		st.Fault, err = faultOf(failed)
		return st, err
	}
	st.State, st.Now = once.Held, time.UnixMilli(now).UTC()
	if st.Seed, err = strconv.ParseUint(seed, 10, 64); err != nil {
		return st, err
	}
	b = k.statement("UPDATE koan_keys SET holder = ").Arg(Marked(c.Holder)).Raw(", lease_until = " + k.clock() + " + ").Arg(c.Lease.Milliseconds()).
		Raw(", touched_at = " + k.clock() + " WHERE run = ").Arg(st.Run)
	if _, err := exec(ctx, tx, b); err != nil {
		return st, err
	}
	st.Intents, err = k.intents(ctx, tx, st.Run)
	return st, err
}

func (k *Keys) intents(ctx context.Context, tx *sql.Tx, id string) (out []once.Intent, err error) {
	b := k.statement("SELECT position, digest, operation, closed, kept, output, fault, at FROM koan_intents WHERE run = ").Arg(id).Raw(" ORDER BY sequence")
	rows, err := tx.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var i once.Intent
		var closed, kept int
		var output, failed sql.NullString
		var at int64
		if err := rows.Scan(&i.Position, &i.Digest, &i.Operation, &closed, &kept, &output, &failed, &at); err != nil {
			return nil, err
		}
		i.Closed, i.Kept, i.Output, i.At = closed != 0, kept != 0, raw(output), time.UnixMilli(at)
		if i.Fault, err = faultOf(failed); err != nil {
			return nil, err
		}
		out = append(out, i)
	}
	return out, rows.Err()
}

// Renew implements once.Ledger.
func (k *Keys) Renew(ctx context.Context, h once.Hold) error {
	return k.durably(ctx, func(tx *sql.Tx) error { return heldUpdate(ctx, tx, k.renewal(h), h) })
}

func (k *Keys) renewal(h once.Hold) *sqltext.Builder {
	return k.statement("UPDATE koan_keys SET touched_at = " + k.clock() + ", lease_until = " + k.clock() + " + ").Arg(h.Lease.Milliseconds())
}

// Intend implements once.Ledger. Renewing the lease locks the run's row, so that
// nobody takes the run over between that and the intent.
func (k *Keys) Intend(ctx context.Context, h once.Hold, i once.Intent) error {
	return k.durably(ctx, func(tx *sql.Tx) error {
		if err := heldUpdate(ctx, tx, k.renewal(h), h); err != nil {
			return err
		}
		b := k.statement("INSERT INTO koan_intents (run, position, digest, sequence, operation, closed, kept, at) SELECT ")
		for _, v := range []any{h.Run, string(i.Position), i.Digest} {
			b.Raw("CAST(").Arg(v).Raw(" AS TEXT), ")
		}
		b.Raw("COUNT(*) + 1, CAST(").Arg(i.Operation).Raw(" AS TEXT), 0, 0, " + k.clock() + " FROM koan_intents WHERE run = ").Arg(h.Run).
			Raw(" ON CONFLICT (run, position, digest) DO UPDATE SET closed = 0, kept = 0, output = NULL, fault = NULL, at = EXCLUDED.at")
		_, err := exec(ctx, tx, b)
		return err
	})
}

// Settle implements once.Ledger.
func (k *Keys) Settle(ctx context.Context, h once.Hold, i once.Intent) error {
	failed, err := faultText(i.Fault)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	return k.durably(ctx, func(tx *sql.Tx) error {
		if err := heldUpdate(ctx, tx, k.renewal(h), h); err != nil {
			return err
		}
		b := k.statement("UPDATE koan_intents SET closed = 1, kept = ").Arg(bit(i.Kept)).Raw(", output = ").Arg(text(i.Output)).Raw(", fault = ").Arg(failed)
		if i.Fault != nil && i.Fault.Retry == fault.Safe {
			b.Raw(", at = " + k.clock())
		}
		b.Raw(" WHERE run = ").Arg(h.Run).Raw(" AND position = ").Arg(string(i.Position)).Raw(" AND digest = ").Arg(i.Digest)
		_, err := exec(ctx, tx, b)
		return err
	})
}

// Commits implements once.Ledger.
func (k *Keys) Commits(ctx context.Context, h once.Hold, sets, scope []string) error {
	names, err := json.Marshal(sets)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	known, err := scopeText(scope)
	if err != nil {
		return err
	}
	return k.durably(ctx, func(tx *sql.Tx) error {
		return heldUpdate(ctx, tx, k.renewal(h).Raw(", sets = ").Arg(string(names)).Raw(", scope = ").Arg(known), h)
	})
}

// End implements once.Ledger. Of a run whose result is kept, its calls outside are only where its
// receipts may be lost.
func (k *Keys) End(ctx context.Context, h once.Hold, e once.Ending) error {
	failed, err := faultText(e.Fault)
	if err != nil {
		return fmt.Errorf("ledger: %w", err)
	}
	scope, err := scopeText(e.Scope)
	if err != nil {
		return err
	}
	return k.durably(ctx, func(tx *sql.Tx) error {
		var err error
		switch e.Fate {
		case once.Resume:
			return heldUpdate(ctx, tx, k.statement("UPDATE koan_keys SET holder = '', touched_at = "+k.clock()), h)
		case once.Free:
			err = heldUpdate(ctx, tx, k.statement("DELETE FROM koan_keys"), h)
		case once.Keep:
			err = heldUpdate(ctx, tx, k.statement("UPDATE koan_keys SET ended = 1, holder = '', touched_at = "+k.clock()+", reply = ").
				Arg(text(e.Reply)).Raw(", fault = ").Arg(failed).Raw(", scope = COALESCE(CAST(").Arg(scope).Raw(" AS TEXT), scope), receipts = ").Arg(e.Receipts), h)
		}
		if err != nil || e.Receipts > 0 {
			return err
		}
		_, err = exec(ctx, tx, k.statement("DELETE FROM koan_intents WHERE run = ").Arg(h.Run))
		return err
	})
}

// Reopen has a run that ended be one that was cut off: the data has lost its receipts since.
func (k *Keys) Reopen(ctx context.Context, run string) error {
	return k.durably(ctx, func(tx *sql.Tx) error {
		_, err := exec(ctx, tx, k.statement("UPDATE koan_keys SET ended = 0, holder = '', lease_until = 0, reply = NULL, fault = NULL, receipts = 0, touched_at = "+k.clock()+" WHERE ended = 1 AND run = ").Arg(run))
		return err
	})
}

// Stale is a run that nobody has touched for long.
type Stale struct {
	Run  string
	Sets []string
}

// Stale returns runs that have ended, or whose holder was last heard of, longer ago
// than the retention: at most so many, the oldest first. Given a claim, only the
// one with its key.
func (k *Keys) Stale(ctx context.Context, retention time.Duration, most int, only *once.Claim) (out []Stale, err error) {
	b := k.statement("SELECT run, sets FROM koan_keys WHERE touched_at < " + k.clock() + " - ").Arg(retention.Milliseconds()).Raw(" AND lease_until < " + k.clock())
	if only != nil {
		b.Raw(" AND subject = ").Arg(only.Subject).Raw(" AND operation = ").Arg(only.Operation).Raw(" AND idempotency_key = ").Arg(only.Key)
	}
	b.Raw(" ORDER BY touched_at LIMIT ").Arg(most)
	rows, err := k.db.QueryContext(ctx, string(b.Text()), b.Args()...)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var s Stale
		var sets string
		if err := rows.Scan(&s.Run, &sets); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		if err := json.Unmarshal([]byte(sets), &s.Sets); err != nil {
			return nil, fmt.Errorf("ledger: %w", err)
		}
		out = append(out, s)
	}
	return out, rows.Err()
}

// Forget takes out a run that Stale gave, unless somebody has claimed it since.
func (k *Keys) Forget(ctx context.Context, id string, retention time.Duration) error {
	return k.durably(ctx, func(tx *sql.Tx) error {
		b := k.statement("DELETE FROM koan_keys WHERE run = ").Arg(id).Raw(" AND touched_at < " + k.clock() + " - ").Arg(retention.Milliseconds()).
			Raw(" AND lease_until < " + k.clock())
		if n, err := exec(ctx, tx, b); err != nil || n == 0 {
			return err
		}
		_, err := exec(ctx, tx, k.statement("DELETE FROM koan_intents WHERE run = ").Arg(id))
		return err
	})
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func raw(s sql.NullString) json.RawMessage {
	if !s.Valid {
		return nil
	}
	return json.RawMessage(s.String)
}

// text binds JSON, null where there is none.
func text(j json.RawMessage) any {
	if j == nil {
		return nil
	}
	return string(j)
}

// scopeText binds a list of sets, null where it is not known.
func scopeText(sets []string) (any, error) {
	if sets == nil {
		return nil, nil
	}
	b, err := json.Marshal(sets)
	if err != nil {
		return nil, fmt.Errorf("ledger: %w", err)
	}
	return string(b), nil
}

func faultText(f *fault.Fault) (any, error) {
	if f == nil {
		return nil, nil
	}
	b, err := json.Marshal(f)
	return string(b), err
}

func faultOf(s sql.NullString) (*fault.Fault, error) {
	if !s.Valid {
		return nil, nil
	}
	return fault.Decode(json.RawMessage(s.String))
}

// Ended returns where the receipts of a run are that held a key and ended, and how many it had; 0
// for none, or where that is not known.
func (k *Keys) Ended(ctx context.Context, run string) (sets []string, receipts int, err error) {
	b := k.statement("SELECT sets, receipts FROM koan_keys WHERE ended = 1 AND run = ").Arg(run)
	err = k.each(ctx, b, func(rows *sql.Rows) error {
		var names string
		if err := rows.Scan(&names, &receipts); err != nil {
			return err
		}
		return json.Unmarshal([]byte(names), &sets)
	})
	return sets, receipts, err
}

// Package database is the seam between what works on data, the engine of entities and the ledger,
// and the databases that have it: sets, their transactions, and what a broken rule of the database
// means. A database of another kind implements these interfaces and needs nothing else.
//
// What belongs here: the interfaces, and what every backend that is built on
// database/sql shares. Not here: SQL of one dialect, entities, or what tables mean.
package database

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// ValidSet reports whether a text can be the name of a set: 1 to 48 of a-z, 0-9, _ and -.
func ValidSet(name string) bool {
	return name != "" && len(name) <= 48 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

// Schema says how a set's tables come to be.
type Schema struct {
	// Version identifies the tables, and is never 0. A set that is marked with it is
	// opened without a further look at its tables.
	Version int32
	// Tables are the app's. A database that has none of them, nor the system's own, is
	// another program's.
	Tables []string
	// Create makes the tables where there are none.
	Create func(ctx context.Context, drv dialect.Driver) error
	// Migrate brings the tables of a set that has another mark to the schema, or
	// ends in the fault that says what stands in the way. It decides under the set's
	// lock, and may find that nothing is left to do.
	Migrate func(ctx context.Context, set string, drv dialect.Driver) error
	// Fill puts the first data into a new set; nil leaves it empty.
	Fill func(ctx context.Context, set string, d Database) error
	// Beginning returns how a set begins that does not exist, in a form of the backend's
	// own: what it returned before for the set, in any process, else what build returns,
	// which fills the set, and with keep returns its image. It is nil for a set that begins
	// empty, or of which no image is kept. The function is nil where Fill puts nothing of
	// the app's into sets.
	Beginning func(ctx context.Context, set string, build func(keep bool) ([]byte, error)) ([]byte, error)
	// Attach is called for each set that is opened, and its result kept with it.
	Attach func(d Database) (any, error)
}

// Backend keeps the sets of an app. It is safe for concurrent use, and other
// processes may use the same data.
type Backend interface {
	Dialect() sqltext.Dialect
	// Place says for people where the data lies: "SQLite in /var/lib/app".
	Place() string
	// Sets are the names of the sets that have data, sorted.
	Sets(ctx context.Context) ([]string, error)
	// Use returns a set, creating it where it does not exist and migrating it at its first
	// use, and what Attach made for it. release must be called when it is not used any more. It ends in
	// unknown_set for a name that cannot be one, in service_unavailable where the
	// set cannot be opened.
	Use(ctx context.Context, set string) (d Database, attached any, release func(), err error)
	// Look runs fn on a set as it lies there: nothing is created, migrated or kept
	// open. It ends in unknown_set where the set has no data.
	Look(ctx context.Context, set string, fn func(ctx context.Context, drv dialect.Driver) error) error
	// Change runs fn on a set's tables: under the set's lock, which holds across
	// processes and holds up no other set, on one connection and in one transaction.
	// When fn succeeds, the set is marked with the schema's version in the same
	// transaction. Foreign keys are not enforced meanwhile, but checked at the end.
	// Schema.Create and Schema.Migrate run the same way. It ends in unknown_set where
	// the set has no data.
	Change(ctx context.Context, set string, fn func(ctx context.Context, drv dialect.Driver) error) error
	// Scratch runs fn on an empty place of the same kind, which is gone afterwards.
	Scratch(ctx context.Context, fn func(ctx context.Context, drv dialect.Driver) error) error
	// SpansSets reports whether one transaction can write to several sets.
	SpansSets() bool
	// Violation returns the rule of the database that an error of a write broke; nil
	// where it broke none.
	Violation(err error) *Violation
	// Trouble turns what stands between a set and its data into the fault that it
	// is: a full disk, a lock, a lost connection. Callers see it, so it names no file,
	// address or role; its cause does, for the log. mine is false for an error that is
	// not the database's; it is returned as it was.
	Trouble(set string, err error) (fault error, mine bool)
	// Close ends all use.
	Close() error
}

// Opener is a Backend that knows without asking the database which sets it has open, which
// therefore exist.
type Opener interface{ IsOpen(set string) bool }

// Finder is a Backend whose Sets are those alone that were used.
type Finder interface {
	// Has reports whether there is a set, which may open it.
	Has(ctx context.Context, set string) (bool, error)
}

// Has reports whether a set has data, as the database says now. Nothing is made by asking.
func Has(ctx context.Context, b Backend, set string) (bool, error) {
	if f, ok := b.(Finder); ok {
		return f.Has(ctx, set)
	}
	sets, err := b.Sets(ctx)
	return slices.Contains(sets, set), err
}

// Drafter is a Backend whose sets come into being by what is written to them.
type Drafter interface {
	// Draft returns a set that does not exist, as it would be made; nil where it exists.
	// It is for one transaction: nobody else sees it, and after release nothing is left
	// of it, unless it was published.
	Draft(ctx context.Context, set string) (d Draft, attached any, release func(), err error)
}

// Draft is a set that does not exist yet.
type Draft interface {
	Database
	// Publish has the open transaction's commit bring the set into being. Either then
	// ends in store.ErrStale where somebody else was faster.
	Publish(ctx context.Context) error
}

// Fault is what an error of a set means: a fault where the database failed. Faults, and
// the need for a new attempt, stay what they are.
func Fault(b interface {
	Trouble(set string, err error) (error, bool)
}, set string, err error,
) error {
	if err == nil || errors.Is(err, store.ErrStale) {
		return err
	}
	if _, known := errors.AsType[*fault.Fault](err); known {
		return err
	}
	trouble, _ := b.Trouble(set, err)
	return trouble
}

var errStatementTooLarge = errors.New("the statement is too large")

// IsStatementTooLarge reports whether a fault is one of StatementTooLarge.
func IsStatementTooLarge(err error) bool { return errors.Is(err, errStatementTooLarge) }

// StatementTooLarge is the fault of a statement with more than its database takes: parameters, arguments
// of a function, or conditions.
func StatementTooLarge(err error) *fault.Fault {
	return fault.New(fault.InvalidPayload, "one statement has more values or conditions than the database takes").
		WithHint("Do it in several steps, each with fewer of them.").Because(fmt.Errorf("%w: %w", errStatementTooLarge, err))
}

// At adds to the cause of a fault of Trouble, which is for the log, where the data
// is. A fault that err had in it before is left as it was.
func At(place string, err error, trouble error) error {
	var f, before *fault.Fault
	if errors.As(err, &before) || !errors.As(trouble, &f) || f.Code != fault.ServiceUnavailable {
		return trouble
	}
	return f.Because(fmt.Errorf("%s: %w", place, err))
}

// Ledger stands in the place of a set's name where an error is of what is the app's and
// no set's. No set's name has a dot.
const Ledger = "koan.ledger"

// Named is how messages name a set, or the ledger.
func Named(set string) string {
	if set == Ledger {
		return "the ledger"
	}
	return fmt.Sprintf("the set %q", set)
}

// Owner is a Backend that has a place for what is the app's and no set's.
type Owner interface {
	Dialect() sqltext.Dialect
	// Trouble is that of Backend.
	Trouble(set string, err error) (fault error, mine bool)
	// Own opens that place, making with the statements what is missing in it; an ALTER
	// TABLE that adds a column which is there, or drops one which is not, does nothing. Its
	// connections are none of the sets', so that who holds one of those never waits
	// for another here; its transactions begin with the write lock where there is one
	// for all. What is committed there outlives a loss of power. The caller closes it.
	Own(ctx context.Context, make []string) (*sql.DB, error)
	// Observe opens that place for reading, after Own has made it. Who reads there
	// keeps nobody from writing.
	Observe(ctx context.Context) (dialect.Driver, error)
	// OwnPlace says for people where it is.
	OwnPlace() string
}

// LossReporter is a Backend that knows which sets have existed.
type LossReporter interface {
	// Lost returns a fault for each set that has existed and whose data is gone.
	Lost(ctx context.Context) ([]*fault.Fault, error)
}

// Reacher is a Backend whose data may be away while the app runs.
type Reacher interface {
	// Reach says what keeps the data and the ledger from being read or written now: one
	// fault, or several joined, in words for everybody; nil where nothing does. It waits
	// for no run and for no migration.
	Reach(ctx context.Context) error
}

// Examiner is a Backend whose data can be damaged, or kept from being written, without that
// showing where it is opened.
type Examiner interface {
	// Examine reads all of a set's data, or of the ledger's (Ledger), and says what is wrong
	// with it. It ends with the context where that takes longer.
	Examine(ctx context.Context, set string) error
}

// Database is one open set. It is safe for concurrent use.
type Database interface {
	// Set is the set's name.
	Set() string
	// Begin opens a transaction for an attempt, nil where no run has it. With write it may write at once;
	// else nothing happens in the database until the first statement. A backend that
	// spans sets gives all sets of one attempt the same transaction underneath.
	Begin(ctx context.Context, a store.Attempt, write bool) (Tx, error)
	// Driver is the driver of the set's base client. In a context that carries a
	// transaction of the set, it takes part in it; elsewhere it works by itself.
	Driver() dialect.Driver
	// DB runs what is not part of a transaction.
	DB() Querier
}

// Querier runs plain SQL.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Tx is a transaction on one set. It is used by one goroutine at a time.
type Tx interface {
	Querier
	// Single avoids the transaction for a run that makes one statement only: what it
	// reads is one snapshot anyway.
	Single()
	// Write makes the transaction a writing one. It ends in store.ErrStale where what
	// was read before is not the newest any more, in set_busy where it waited too
	// long.
	Write(ctx context.Context) error
	// Writing reports whether it is one.
	Writing() bool
	// Savepoint opens a savepoint around a call, of which read says that it only
	// reads; end releases it, or rolls back to it.
	Savepoint(ctx context.Context, read bool) (end func(ok bool) error, err error)
	// Alone runs one statement that writes one row at most, and reports whether it did.
	// A backend may omit the savepoint around a call for it: nobody needs that where
	// the statement fails, or nothing fails after it.
	Alone(statement func() (wrote bool, err error)) error
	// Recover makes a transaction usable again whose last statement failed, by going
	// back to its last savepoint, so that one can ask it for the reason.
	Recover(ctx context.Context) error
	// Stale reports whether err, or what the transaction met before it, means that
	// only a new attempt can succeed.
	Stale(err error) bool
	// Commit ends the transaction with its effect; Rollback without. A failed Commit
	// leaves it open for a rollback. After an end Rollback does nothing.
	Commit(ctx context.Context) error
	Rollback(ctx context.Context) error
	Ended() bool
	// Driver returns a driver of ent over this transaction.
	Driver() *TxDriver
	// With carries the transaction in a context, so that the set's base client joins
	// it instead of waiting for it.
	With(ctx context.Context) context.Context
}

// Grouped is a Tx whose short writes may be committed together with others.
type Grouped interface {
	// Apart says that the transaction is going to do what may take long. Those that wait for it are
	// committed before, unless it has written.
	Apart(ctx context.Context) error
}

// Apart is that of a transaction which is Grouped, and does nothing for others.
func Apart(ctx context.Context, t Tx) error {
	if g, ok := t.(Grouped); ok {
		return g.Apart(ctx)
	}
	return nil
}

// Locator is a Tx that can say where a row is stored, so that who writes to that row alone need not look for it
// among others: on PostgreSQL who looks is in the way of all who write to a page of the index.
type Locator interface {
	// Locate returns where the row with a key is, "" where there is none or nobody knows. It is asked before
	// the first statement, and what it returns may be out of date at once.
	Locate(ctx context.Context, table, column string, key any) (place string, err error)
}

// Counter is a Tx that may count its statements, whoever makes them, and the savepoints that it was rolled
// back to: while the number is the same, nothing of what it sees has changed.
type Counter interface {
	Statements() (n int, counted bool)
}

// Rule is a kind of rule that databases check.
type Rule int

// The rules.
const (
	Other Rule = iota
	Unique
	ForeignKey
	NotNull
	Check
	Exclusion   // a row that is in another's way: EXCLUDE
	Raised      // a trigger's own reason
	RowSecurity // a policy on the table
	Exhausted   // the counter of ids is at its end
)

// Violation is a broken rule. Table, Columns and Name, of a constraint, are as far
// as the database names them; Message is a trigger's.
type Violation struct {
	Rule    Rule
	Schema  string // "" on SQLite
	Table   string
	Columns []string
	Name    string
	Message string
}

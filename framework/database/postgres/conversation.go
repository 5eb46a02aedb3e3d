package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run/store"
)

// patience is how long a statement waits for a lock, in which others may write.
const patience = 20 * time.Second

// state is how far a transaction has come.
type state int

const (
	idle   state = iota // nothing asked for yet
	single              // one statement, without a transaction
	open                // a transaction, or the wish for one
	over
)

// conversation is one transaction on the server, which the sets of an attempt
// share. What needs no answer of its own (BEGIN, locks, savepoints, the change to
// another set's schema) waits for a statement to go out with, so that it costs no
// round trip.
type conversation struct {
	server  *Server
	attempt store.Attempt // nil for what is not part of a run
	source
	careful bool // reads have savepoints

	conn    *sql.Conn
	state   state
	members int
	path    *Database // whose schema names are looked for in; nil for no set's
	vars    []database.Variable
	outgoing
	statements int // of the sets' transactions, and rollbacks to savepoints
	saves      []savepoint
	writes     int  // statements of sets that are written to
	stale      bool // only a new attempt can succeed
}

// outgoing is what is said to the server together with the next statement.
type outgoing struct {
	due    string // goes out with the next statement
	lazy   string // goes out with what is due: RELEASE, which may as well be left out
	sent   int    // how often something due went out
	broken error  // why what was due was refused: nobody knows how much of it there is
}

// savepoint is one that is open.
type savepoint struct {
	name  string
	path  *Database
	vars  []database.Variable
	sent  int
	mark  int // length of what was due before it
	depth int // how many are around it
}

// carefulSlot is where the tape keeps that a read of the run has failed.
const carefulSlot = "postgres.careful"

var errNotYet = errors.New("postgres: no read of this run has failed")

// join returns the conversation of an attempt. It may take place at a replica only where read says
// that a replica can have what it is about.
func (s *Server) join(ctx context.Context, a store.Attempt, read bool) *conversation {
	if c := s.attempts.find(a); c != nil {
		return c
	}
	c := &conversation{server: s, attempt: a, source: source{pool: s.pool, level: "ISOLATION LEVEL SERIALIZABLE"}}
	if a == nil {
		return c
	}
	if a.Single() {
		c.level = "ISOLATION LEVEL REPEATABLE READ READ ONLY"
	}
	if a.Number() > 1 {
		_, err := a.Tape().Value("", carefulSlot, func() (any, error) { return nil, errNotYet })
		c.careful = err == nil
	}
	c.chooseReplica(ctx, read)
	s.attempts.add(a, c)
	return c
}

// attempts are the conversations of attempts. It is safe for concurrent use; an attempt makes one call at a time.
type attempts struct {
	mu    sync.Mutex
	known map[store.Attempt]*conversation
}

// find returns the conversation of an attempt, nil for none.
func (k *attempts) find(a store.Attempt) *conversation {
	if a == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.known[a]
}

func (k *attempts) add(a store.Attempt, c *conversation) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.known == nil {
		k.known = map[store.Attempt]*conversation{}
	}
	k.known[a] = c
}

func (k *attempts) remove(a store.Attempt) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.known, a)
}

// beginOwn begins a transaction that is not part of a run.
func (s *Server) beginOwn(pool *sql.DB, level string) *Tx {
	return &Tx{c: &conversation{server: s, members: 1, source: source{pool: pool, level: level}}}
}

// locksExclusively reports whether the attempt should not share the lock of a set that it writes
// to.
func (c *conversation) locksExclusively() bool {
	return c.attempt != nil && (c.attempt.Number() > 1 || !c.attempt.Atomic())
}

// locksAlways reports whether the attempt takes the lock even where nobody knows that it
// writes, since it has been stale too often.
func (c *conversation) locksAlways() bool { return c.attempt != nil && c.attempt.Number() > 2 }

// hasNotRead reports whether nothing was read yet.
func (c *conversation) hasNotRead() bool { return c.sent == 0 }

// setSearchPath has the next statement look for names in a set's schema.
func (c *conversation) setSearchPath(d *Database) {
	if c.state == idle {
		c.state = open
		c.due = "BEGIN " + c.level + ";SET LOCAL lock_timeout TO " + strconv.FormatInt(c.server.patience.Milliseconds(), 10) + ";"
	}
	if c.path != d && d != nil {
		c.due += "SET LOCAL search_path TO " + quoted(d.schema) + ";"
		c.path = d
	}
}

// setVariables has the next statement run with the session variables of its context. They
// hold in a transaction, so a statement with any is not without one.
func (c *conversation) setVariables(ctx context.Context, d *Database) error {
	want, err := database.Variables(ctx)
	if err != nil || slices.Equal(c.vars, want) {
		return err
	}
	for _, v := range want {
		if strings.EqualFold(v.Name, "search_path") {
			return errPath
		}
	}
	if c.state == single {
		c.state = idle
	}
	c.setSearchPath(d)
	for _, statement := range Variables(c.vars, want) {
		c.due += statement + ";"
	}
	c.vars = want
	return nil
}

var errPath = errors.New("the app sets the session variable search_path, which selects the schema of the set")

// connect takes a connection, where there is none yet.
func (c *conversation) connect(ctx context.Context) (err error) {
	if c.conn == nil {
		c.conn, err = c.server.replicas.connect(ctx, c.pool, c.call)
	}
	return err
}

// ready makes the connection ready for a statement of a set.
func (c *conversation) ready(ctx context.Context, d *Database) (err error) {
	if err := c.setVariables(ctx, d); err != nil {
		return err
	}
	if err := c.connect(ctx); err != nil {
		return err
	}
	if c.state == single {
		return c.noteError(lookInto(ctx, c.conn, d))
	}
	c.setSearchPath(d)
	if c.due == "" {
		return nil
	}
	text := c.lazy + c.due
	c.lazy, c.due = "", ""
	c.sent++
	_, err = c.conn.ExecContext(ctx, text)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && text != discardPlans { // a lock was not given, and the savepoints behind it are not there
		c.broken = err
	}
	return c.noteError(err)
}

// replan has the server plan its statements anew from time to time while a transaction writes. A plan
// that it made when a table was known to be small reads all rows, checks of foreign keys included, and would
// be kept until somebody analyzes the table, which sees nothing of rows that are not committed.
func (c *conversation) replan() {
	if c.writes++; c.state == open && c.writes%replanEvery == 0 {
		c.due += discardPlans
	}
}

const discardPlans = "DISCARD PLANS;"

// replanEvery is after how many statements plans are made anew: planning takes about as long as executing
// one that finds its row by the key.
const replanEvery = 256

// noteError remembers an error that only a new attempt mends.
func (c *conversation) noteError(err error) error {
	switch {
	case err == nil:
		return nil
	case c.replica != nil:
		return c.leaveReplica(err)
	case !Again(err):
		return err
	}
	c.stale = true
	return fmt.Errorf("%w: %w", store.ErrStale, err)
}

// noteStatementError is noted for a statement. One that the server refused outside of a savepoint
// has spoilt the transaction; the next attempt has savepoints around all its reads,
// so that there it spoils nothing.
func (c *conversation) noteStatementError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	var refused *pgconn.PgError
	if c.replica != nil || c.state != open || c.careful || len(c.saves) > 0 || c.attempt == nil || !c.attempt.Atomic() || Again(err) ||
		!errors.As(err, &refused) || ctx.Err() != nil {
		return c.noteError(err)
	}
	if _, taped := c.attempt.Tape().Value("", carefulSlot, func() (any, error) { return true, nil }); taped != nil {
		return err
	}
	c.stale = true
	return fmt.Errorf("%w: %w", store.ErrStale, err)
}

// openSavepoint opens a savepoint.
func (c *conversation) openSavepoint() savepoint {
	s := savepoint{name: "koan_" + strconv.Itoa(len(c.saves)+1), path: c.path, vars: c.vars, sent: c.sent, mark: len(c.due), depth: len(c.saves)}
	c.saves = append(c.saves, s)
	c.due += "SAVEPOINT " + s.name + ";"
	return s
}

var errAborted = errors.New("an earlier statement failed and its error was ignored, so PostgreSQL rolled back everything")

// closeSavepoint closes a savepoint.
func (c *conversation) closeSavepoint(ctx context.Context, s savepoint, ok bool) error {
	c.saves = c.saves[:s.depth] // a panic may have left those inside of it
	switch {
	case c.state != open || c.stale:
		return nil
	case s.sent == c.sent: // nothing happened since
		c.due, c.path, c.vars = c.due[:s.mark], s.path, s.vars
		return nil
	case !ok:
		return c.rollbackTo(ctx, s)
	case c.aborted():
		return errors.Join(errAborted, c.rollbackTo(ctx, s))
	}
	c.lazy += "RELEASE SAVEPOINT " + s.name + ";"
	return nil
}

// rollbackTo undoes what happened since a savepoint. Savepoints inside of it are gone. It
// ends in the reason where the savepoint may not be there.
func (c *conversation) rollbackTo(ctx context.Context, s savepoint) error {
	if c.broken != nil {
		return c.broken
	}
	c.statements++
	c.due, c.lazy, c.path, c.vars = "", "", s.path, s.vars
	_, err := c.conn.ExecContext(ctx, "ROLLBACK TO SAVEPOINT "+s.name)
	c.lazy = "RELEASE SAVEPOINT " + s.name + ";"
	return c.noteError(err)
}

// recoverFromError goes back to the last savepoint if the transaction is spoilt.
func (c *conversation) recoverFromError(ctx context.Context) error {
	if c.broken != nil {
		return c.broken
	}
	if len(c.saves) == 0 || !c.aborted() {
		return nil
	}
	s := c.saves[len(c.saves)-1]
	if s.sent == c.sent {
		return nil
	}
	err := c.rollbackTo(ctx, s)
	c.lazy = "" // it stays open
	return err
}

// The states of a transaction as the server tells them.
const (
	outside = 'I'
	spoilt  = 'E'
)

// status is the state of the transaction on the server, 0 where there is no
// connection any more.
func (c *conversation) status() (status byte) {
	if c.conn == nil {
		return 0
	}
	_ = c.conn.Raw(func(raw any) error {
		if p := native(raw).PgConn(); !p.IsClosed() {
			status = p.TxStatus()
		}
		return nil
	})
	return status
}

func (c *conversation) aborted() bool { return c.status() == spoilt }

// commit ends the transaction with its effect. When it fails, it stays open for a
// rollback.
func (c *conversation) commit(ctx context.Context) error {
	if c.state == open && c.sent > 0 {
		switch {
		case c.stale:
			return store.ErrStale
		case c.aborted():
			return errAborted
		}
		if _, err := c.conn.ExecContext(ctx, "COMMIT"); err != nil {
			return c.unknownOutcome(c.noteError(err))
		}
	}
	c.reach(ctx)
	c.end()
	return nil
}

// unknownOutcome says that nobody heard how a commit ended. There is nothing left to
// roll back then, and others may need the connection's place.
func (c *conversation) unknownOutcome(err error) error {
	var answered *pgconn.PgError
	if errors.As(err, &answered) {
		return err
	}
	c.end()
	return fault.New(fault.OutcomeUnknown, "the connection to the database broke during the commit").
		WithHint("Read the data to see whether the change was made.").Because(err)
}

// rollback ends the transaction without effect.
func (c *conversation) rollback(ctx context.Context) {
	if c.state == over {
		return
	}
	if s := c.status(); s != 0 && s != outside {
		_, _ = c.conn.ExecContext(ctx, "ROLLBACK")
	}
	c.reach(ctx)
	c.end()
}

// end returns the connection to the pool.
func (c *conversation) end() {
	if c.conn != nil {
		if c.status() != outside {
			// Whatever state it is in, nobody else must get it.
			_ = c.conn.Raw(func(any) error { return driver.ErrBadConn })
		}
		_ = c.conn.Close()
	}
	c.state = over
	if c.attempt != nil {
		c.server.attempts.remove(c.attempt)
	}
}

package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/position"
	"github.com/koan-go/koan/framework/run/store"
)

// Replicas that do not answer keep nobody waiting for longer than replicaWait, and are not asked again
// for replicaRest.
const (
	replicaWait = 2 * time.Second
	replicaRest = 10 * time.Second
)

// replica is a server that follows the one with the data, by streaming replication.
type replica struct {
	address *address
	pool    *sql.DB

	mu   sync.Mutex
	rest time.Time // until when it is not asked
}

// Replicas are those of a server, and how far it and they have come. It is safe for concurrent use.
//
// A place in the write-ahead log means something on its timeline only, and a server that follows
// says nothing of its timeline to a role without privileges. So each timeline is a row of a table, which is written
// before anything else of an app's is on it: who has replayed the row has all of the timelines before it.
type Replicas struct {
	list    []*replica
	primary *sql.DB // where the data is
	table   string  // of timelines, there
	turn    atomic.Uint32
	begun   atomic.Bool   // the table is there
	system  atomic.Uint64 // which database it is, 0 before the first connection
	noted   atomic.Uint32 // the last timeline that is known to be in the table
}

// timelineTable is the table of timelines.
func timelineTable(a *address) string { return quoted(a.prefix) + ".koan_timelines" }

// openReplicas takes the URLs of replicas apart. Nobody connects before the first read.
func openReplicas(primary *address, pool *sql.DB, app string, urls []string) (*Replicas, error) {
	if len(urls) == 0 {
		return nil, nil
	}
	r := &Replicas{primary: pool, table: timelineTable(primary)}
	for i, url := range urls {
		a, err := parse(url, app)
		if err != nil {
			return nil, errors.Join(replicaFault(i, err), r.close())
		}
		if given := a.prefix; given != primary.prefix && given != prefixOf(app) {
			return nil, errors.Join(replicaFault(i, invalidURL("%s is %s there, and %s at the database", paramPrefix, given, primary.prefix)), r.close())
		}
		if a.config.Database != primary.config.Database {
			return nil, errors.Join(replicaFault(i, invalidURL("it names the database %s, and `database` names %s", a.config.Database, primary.config.Database)), r.close())
		}
		a.prefix = primary.prefix
		r.list = append(r.list, &replica{address: a, pool: a.open(a.conns)})
	}
	return r, nil
}

// replicaFault says which URL of database.replicas is meant.
func replicaFault(i int, err error) error {
	return fault.Newf(fault.ServiceUnavailable, "database.replicas, number %d: %s", i+1, fault.From(err).Message).
		WithPath("/database/replicas/" + strconv.Itoa(i)).
		WithHint("Each is postgres://USER:PASSWORD@HOST/DATABASE, with the database that `database` names; docs/howto/cluster.md has an example.")
}

func (r *Replicas) close() error {
	if r == nil {
		return nil
	}
	var errs []error
	for _, one := range r.list {
		errs = append(errs, one.pool.Close())
	}
	return errors.Join(errs...)
}

// makeTable is the statement that makes the table of timelines, "" where nobody needs it.
func (r *Replicas) makeTable() string {
	if r == nil {
		return ""
	}
	return "CREATE TABLE IF NOT EXISTS " + r.table + " (system bigint, timeline bigint, noted_at timestamptz NOT NULL DEFAULT now(), PRIMARY KEY (system, timeline))"
}

// begin notes the timeline that the server with the data is on, once there is a table for it.
func (r *Replicas) begin(ctx context.Context) error {
	if r == nil {
		return nil
	}
	r.begun.Store(true)
	conn, err := r.connect(ctx, r.primary, nil)
	if refused := answerOf(err); refused != nil && (refused.Code == noPrivilege || refused.Code[:2] == notSupported) {
		return fault.New(fault.CapabilityUnsupported, "database.replicas is set, but the database server does not say where it is in its log").WithPath("/database/replicas").
			WithHint("Leave it out. Servers that are not PostgreSQL itself may have no such functions; elsewhere, let the role call pg_control_system and pg_current_wal_insert_lsn.").Because(err)
	}
	if err != nil {
		return err
	}
	return conn.Close()
}

// standing is where a server is.
type standing struct {
	position.Position        // up to which it has replayed, where it follows another one
	received          uint64 // up to where it has what it is going to replay
	follows           bool
}

// replicaStanding asks a replica where it is. What it has replayed is asked before the next statement's snapshot is
// taken, so the snapshot has it. Rows of another database came with a dump.
const replicaStanding = `SELECT pg_is_in_recovery(), system_identifier, COALESCE((SELECT max(timeline) FROM %s WHERE system = system_identifier), 0), COALESCE(pg_last_wal_replay_lsn() - '0/0', 0)::bigint, COALESCE(pg_last_wal_receive_lsn() - '0/0', 0)::bigint FROM pg_control_system()`

func (r *Replicas) standingOf(ctx context.Context, conn database.Querier) (s standing, err error) {
	rows, err := conn.QueryContext(ctx, fmt.Sprintf(replicaStanding, r.table))
	if err != nil {
		return s, err
	}
	defer rows.Close()
	for rows.Next() {
		var system, timeline, replayed, received int64
		if err := rows.Scan(&s.follows, &system, &timeline, &replayed, &received); err != nil {
			return s, err
		}
		s.Position = position.Position{System: uint64(system), Timeline: uint32(timeline), Offset: uint64(replayed)}
		s.received = uint64(received)
	}
	return s, rows.Err()
}

// has reports whether the data there is at least what was seen at a position. A replica that does not
// stream has no say in it: what it is replaying is then nowhere to be asked.
func (s standing) has(p position.Position) bool {
	return s.follows && s.System == p.System && s.received >= s.Offset && !s.Before(p)
}

// take returns a connection to a replica that has at least what a call has seen, nil where there is
// none.
func (r *Replicas) take(ctx context.Context, c *position.Call) (*replica, *sql.Conn) {
	seen, known := c.Seen()
	if !known || seen.System != r.system.Load() {
		return nil, nil
	}
	first := int(r.turn.Add(1))
	for i := range r.list {
		one := r.list[(first+i)%len(r.list)]
		if conn := one.take(ctx, r, seen); conn != nil {
			return one, conn
		}
	}
	return nil, nil
}

// take returns a connection to the replica if it has what was seen at a position.
func (one *replica) take(ctx context.Context, all *Replicas, seen position.Position) *sql.Conn {
	if one.rests() {
		return nil
	}
	if s := one.pool.Stats(); s.InUse >= s.MaxOpenConnections { // the server with the data may be less busy
		return nil
	}
	limited, stop := context.WithTimeout(ctx, replicaWait)
	defer stop()
	conn, err := one.pool.Conn(limited)
	var at standing
	if err == nil {
		at, err = all.standingOf(limited, conn)
	}
	if (err != nil || !at.follows) && ctx.Err() == nil { // a caller that gives up says nothing of the replica
		one.sendToRest()
	}
	if err == nil && at.has(seen) {
		return conn
	}
	if conn != nil {
		_ = conn.Close()
	}
	return nil
}

func (one *replica) rests() bool {
	one.mu.Lock()
	defer one.mu.Unlock()
	return time.Now().Before(one.rest)
}

func (one *replica) sendToRest() {
	one.mu.Lock()
	defer one.mu.Unlock()
	one.rest = time.Now().Add(replicaRest)
}

// reached returns a position that nothing is behind of what was read on a connection to a replica before. The
// record that is being replayed shows before the replica says so, and is among those that it has
// received.
func (r *Replicas) reached(ctx context.Context, conn database.Querier) (position.Position, error) {
	s, err := r.standingOf(ctx, conn)
	switch {
	case err != nil:
		return position.Position{}, err
	case !s.follows || s.received < s.Offset:
		return position.Position{}, errors.New("postgres: the replica does not stream any more")
	}
	s.Offset = s.received
	return s.Position, nil
}

// identityKey is where a connection keeps which server it is to: a position.Position without an
// offset.
const identityKey = "koan.identity"

// admit notes which server a connection is to, and that its timeline has begun. It returns service_unavailable
// where the server is behind what a call has seen: it was the one with the data before another was promoted.
func (r *Replicas) admit(ctx context.Context, conn *sql.Conn, c *position.Call) error {
	at, err := identityOf(ctx, conn)
	if err != nil {
		return err
	}
	if at.Timeline > r.noted.Load() {
		if _, err := conn.ExecContext(ctx, "INSERT INTO "+r.table+" (system, timeline) VALUES ($1, $2) ON CONFLICT DO NOTHING", int64(at.System), int64(at.Timeline)); err != nil {
			return err
		}
		r.system.Store(at.System)
		r.noted.Store(at.Timeline)
	}
	if c == nil {
		return nil
	}
	if seen, known := c.Seen(); known && seen.System == at.System && at.Timeline > 0 && seen.Timeline > at.Timeline {
		return fault.New(fault.ServiceUnavailable, "the database that answers is behind what the caller has seen").
			WithHint("It was replaced by another server: try again in a moment.").
			Because(fmt.Errorf("the server is on timeline %d, and the caller has seen timeline %d", at.Timeline, seen.Timeline))
	}
	return nil
}

// identityOf returns which database, and on which timeline, a connection is to. The timeline is 0 at a
// server that follows another one.
func identityOf(ctx context.Context, conn *sql.Conn) (at position.Position, err error) {
	var data map[string]any
	if err := conn.Raw(func(raw any) error { data = native(raw).PgConn().CustomData(); return nil }); err != nil {
		return at, err
	}
	if at, ok := data[identityKey].(position.Position); ok {
		return at, nil
	}
	var system int64
	var file sql.NullString
	const asked = "SELECT system_identifier, CASE WHEN NOT pg_is_in_recovery() THEN pg_walfile_name(pg_current_wal_insert_lsn()) END FROM pg_control_system()"
	if err := conn.QueryRowContext(ctx, asked).Scan(&system, &file); err != nil {
		return at, err
	}
	at.System = uint64(system)
	if !file.Valid { // it may be promoted while the connection lives
		return at, nil
	}
	timeline, err := strconv.ParseUint(file.String[:min(8, len(file.String))], 16, 32) // the file's name begins with it
	if err != nil {
		return at, err
	}
	at.Timeline = uint32(timeline)
	data[identityKey] = at
	return at, nil
}

// now returns how far the server with the data has come.
func (r *Replicas) now(ctx context.Context, conn *sql.Conn) (position.Position, error) {
	at, err := identityOf(ctx, conn)
	if err != nil {
		return at, err
	}
	var offset int64
	err = conn.QueryRowContext(ctx, "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint").Scan(&offset)
	at.Offset = uint64(offset)
	return at, err
}

// Position implements position.Source.
func (r *Replicas) Position(ctx context.Context) (position.Position, error) {
	conn, err := r.connect(ctx, r.primary, nil)
	if err != nil {
		return position.Position{}, err
	}
	defer conn.Close()
	return r.now(ctx, conn)
}

// connect returns a connection of a pool for a call, nil where it is nobody's.
func (r *Replicas) connect(ctx context.Context, pool *sql.DB, c *position.Call) (*sql.Conn, error) {
	conn, err := pool.Conn(ctx)
	if err != nil || r == nil || !r.begun.Load() {
		return conn, err
	}
	if err := r.admit(ctx, conn, c); err != nil {
		// Whoever comes next gets a connection to the server that is the right one by then.
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// source is where a conversation takes place.
type source struct {
	pool    *sql.DB // where its connection comes from
	level   string
	replica *replica       // nil at the server with the data
	call    *position.Call // whose positions count, nil for nobody's
}

// mayRead reports whether an attempt may read from a replica: one that begins, and that nobody expects to
// write. Where it writes all the same, the next one does all of it at the server with the data.
func mayRead(a store.Attempt) bool {
	return a.Number() == 1 && a.Fresh() && a.Atomic() && !a.WriteFirst()
}

// chooseReplica has a conversation take place at a replica, where that is possible and one has enough.
func (c *conversation) chooseReplica(ctx context.Context, possible bool) {
	r := c.server.replicas
	if r == nil {
		return
	}
	c.call = position.From(ctx)
	if c.call == nil || !possible || !mayRead(c.attempt) {
		return
	}
	one, conn := r.take(ctx, c.call)
	if one == nil {
		return
	}
	c.source, c.conn = source{one.pool, "ISOLATION LEVEL REPEATABLE READ READ ONLY", one, c.call}, conn
}

// leaveReplica returns the error that has the next attempt take place at the server with the data; because
// is what the replica said, nil where it was not asked.
func (c *conversation) leaveReplica(because error) error {
	c.stale = true
	if because == nil {
		return store.ErrRepeat
	}
	if c.status() == 0 {
		c.replica.sendToRest()
	}
	return fmt.Errorf("%w: %w", store.ErrRepeat, because)
}

// reach notes for the caller how far the data had come that it read or wrote.
func (c *conversation) reach(ctx context.Context) {
	if c.call == nil || c.conn == nil || c.statements == 0 {
		return
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), replicaWait)
	defer stop()
	var at position.Position
	var err error
	if c.replica != nil {
		at, err = c.server.replicas.reached(ctx, c.conn)
	} else {
		at, err = c.server.replicas.now(ctx, c.conn)
	}
	if err != nil {
		c.call.Lose()
		return
	}
	c.call.Reach(at)
}

// ReplicaState is what is to be said of a replica.
type ReplicaState struct {
	Address string
	// Behind is how many bytes of the log it has to replay yet.
	Behind uint64
	// Problem is why nobody reads from it, nil if nothing is in the way.
	Problem error
}

// States asks all replicas where they are.
func (r *Replicas) States(ctx context.Context) (out []ReplicaState) {
	now, err := r.Position(ctx)
	for _, one := range r.list {
		state := ReplicaState{Address: serverAddress(one.address.config), Problem: err}
		if err == nil {
			state.Behind, state.Problem = one.behind(ctx, r, now)
		}
		out = append(out, state)
	}
	return out
}

// behind returns how many bytes of the log a replica has to replay until it is where the server with the data is
// now.
func (one *replica) behind(ctx context.Context, all *Replicas, now position.Position) (uint64, error) {
	ctx, stop := context.WithTimeout(ctx, replicaWait)
	defer stop()
	conn, err := one.pool.Conn(ctx)
	if err != nil {
		return 0, unreachableFault(one.address.config, err)
	}
	defer conn.Close()
	at, err := all.standingOf(ctx, conn)
	switch {
	case strings.Contains(fmt.Sprint(err), "koan_timelines"):
		return 0, errors.New("it has not replayed the table of timelines yet")
	case err != nil:
		return 0, err
	case at.System != now.System:
		return 0, errors.New("it is a replica of another database")
	case !at.follows:
		return 0, errors.New("it follows no other server: it is not a standby")
	case at.received < at.Offset:
		return 0, errors.New("it does not receive the log by streaming replication")
	case at.Timeline < now.Timeline:
		return 0, errors.New("it has not followed the last promotion yet")
	}
	return max(now.Offset, at.Offset) - at.Offset, nil
}

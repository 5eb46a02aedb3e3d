package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/run/store"
)

var (
	_ database.Drafter = (*Server)(nil)
	_ database.Draft   = (*Draft)(nil)
)

// Draft is a set that does not exist yet: a schema that its one transaction makes, and
// that nobody else ever sees. It takes the set's name before the commit.
type Draft struct {
	*Database
	tx        *Tx
	made      bool
	published bool
}

// Draft implements database.Drafter.
func (s *Server) Draft(ctx context.Context, set string) (d database.Draft, attached any, release func(), err error) {
	if !database.ValidSet(set) || s.opened.Has(set) {
		return nil, nil, nil, nil
	}
	there, err := s.exists(ctx, s.keeper, s.database(set))
	if err != nil {
		return nil, nil, nil, s.openFault(set, err)
	}
	if there {
		return nil, nil, nil, nil
	}
	draft := &Draft{Database: s.database(set)}
	draft.schema = s.schemaOf(":" + rand.Text()) // no set has this name
	draft.Database.draft = draft
	if s.schema.Attach != nil {
		if attached, err = s.schema.Attach(draft.Database); err != nil {
			return nil, nil, nil, err
		}
	}
	return draft, attached, func() {}, nil
}

// begin takes the transaction in which the draft lives. One that only reads makes the
// schema as well.
func (d *Draft) begin(t *Tx) {
	d.tx = t
	if t.c.state == idle {
		t.c.level = "ISOLATION LEVEL SERIALIZABLE"
	}
}

// make makes the schema, its tables and the first data, once.
func (d *Draft) make(ctx context.Context) error {
	if d.made {
		return nil
	}
	d.made = true
	if err := d.server.birth.create(ctx, inside(d.Database, d.tx)); err != nil {
		return d.staleIfMade(fmt.Errorf("make the set %q: %w", d.set, err))
	}
	return nil
}

// Publish implements database.Draft.
func (d *Draft) Publish(context.Context) error {
	d.published = true
	return nil
}

// finish ends the draft before its transaction commits. It drops a schema that is not
// published. One that is waits for others that make the same set, and is stale where
// one of them commits.
func (d *Draft) finish(ctx context.Context) error {
	switch {
	case !d.made:
		return nil
	case !d.published:
		_, err := d.tx.ExecContext(ctx, "DROP SCHEMA "+quoted(d.schema)+" CASCADE")
		return err
	}
	to := d.server.schemaOf(d.set)
	if _, err := d.tx.ExecContext(ctx, "ALTER SCHEMA "+quoted(d.schema)+" RENAME TO "+quoted(to)); err != nil {
		return d.staleIfMade(err)
	}
	if _, err := d.tx.ExecContext(ctx, "INSERT INTO "+d.server.table()+" (name, version) VALUES ($1, $2)", d.set, d.server.schema.Version); err != nil {
		return d.staleIfMade(err)
	}
	d.schema = to
	return nil
}

// staleIfMade is store.ErrStale where somebody else has made the set.
func (d *Draft) staleIfMade(err error) error {
	if isMadeMeanwhile(err) {
		d.tx.c.stale = true
		return fmt.Errorf("%w: %w", store.ErrStale, err)
	}
	return err
}

// isMadeMeanwhile reports whether a set could not be made because somebody else has made
// it.
func isMadeMeanwhile(err error) bool {
	var refused *pgconn.PgError
	return errors.As(err, &refused) && (refused.Code == takenSchema || refused.Code == unique)
}

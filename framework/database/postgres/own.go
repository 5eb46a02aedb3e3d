package postgres

import (
	"context"
	"database/sql"
	"errors"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/database"
)

// ownConns is how many connections serve data outside the sets.
const ownConns = 4

var _ database.Owner = (*Server)(nil)

// Own implements database.Owner: the schema that has the table of sets.
func (s *Server) Own(ctx context.Context, statements []string) (*sql.DB, error) {
	err := s.withSetLock(ctx, s.prefix, func(t *Tx) error {
		for _, statement := range statements {
			if _, err := t.ExecContext(ctx, statement); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return nil, s.openFault(s.prefix, err)
	}
	db := s.address.open(ownConns)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(unreachableFault(s.config, err), db.Close())
	}
	return db, nil
}

// Observe implements database.Owner.
func (a *address) Observe(context.Context) (dialect.Driver, error) {
	reading := *a
	reading.config = a.config.Copy()
	reading.config.RuntimeParams["default_transaction_read_only"] = "on"
	return entsql.OpenDB(dialect.Postgres, reading.open(ownConns)), nil
}

// OwnPlace implements database.Owner.
func (a *address) OwnPlace() string { return "schema " + a.prefix + " of " + serverAddress(a.config) }

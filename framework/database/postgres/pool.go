package postgres

import (
	"context"
	"database/sql"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// paramJIT is the server's setting for compiling statements. A URL that has it decides by itself.
const paramJIT = "jit"

// undefinedObject is PostgreSQL's code for, among others, a setting that the server does not know.
const undefinedObject = "42704"

// openPool returns a pool on whose connections the server does not compile statements. Where a database has thousands
// of tables, the planner expects reading the catalog to be so expensive that it compiles for half a second a
// statement that runs for milliseconds, each time a dataset's tables are compared. The setting is not
// a parameter of the connection, since PgBouncer rejects those that it is not configured to ignore.
func openPool(config pgx.ConnConfig) *sql.DB {
	if _, ok := config.RuntimeParams[paramJIT]; ok {
		return stdlib.OpenDB(config)
	}
	return stdlib.OpenDB(config, stdlib.OptionAfterConnect(func(ctx context.Context, c *pgx.Conn) error {
		_, err := c.Exec(ctx, "SET jit TO off")
		if refused := (*pgconn.PgError)(nil); errors.As(err, &refused) && refused.Code == undefinedObject {
			return nil // servers that speak PostgreSQL's protocol, and compile nothing
		}
		return err
	}))
}

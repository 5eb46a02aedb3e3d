package postgres

import (
	"context"
	"database/sql"
	"errors"
	"net"
	"strconv"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"
)

// statementTime bounds a statement on a database of another program, which serves others too; the URL may set
// another with statement_timeout.
const statementTime = "30s"

// Existing is a database that another program keeps.
type Existing struct {
	*sql.DB
	Place string // without a role or a password
}

// OpenExisting connects to a database that another program keeps. For reading only, the server itself refuses
// every statement that writes. Nothing is created there.
func OpenExisting(ctx context.Context, url, app string, readOnly bool) (*Existing, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, invalidURL("the URL of the database is not valid: %v", err)
	}
	set := func(key, value string) {
		if config.RuntimeParams[key] == "" {
			config.RuntimeParams[key] = value
		}
	}
	delete(config.RuntimeParams, paramPool)
	set("application_name", app)
	set("statement_timeout", statementTime)
	config.RuntimeParams["timezone"] = "UTC" // in which times without a zone are read, and buckets cut
	for key, value := range map[string]string{"datestyle": "ISO", "intervalstyle": "postgres", "bytea_output": "hex"} {
		config.RuntimeParams[key] = value // ids have keys as the server writes them
	}
	if readOnly {
		config.RuntimeParams["default_transaction_read_only"] = "on"
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connecting
	}
	config.StatementCacheCapacity = statements
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: config.ConnectTimeout}
	}
	db := openPool(*config)
	db.SetMaxOpenConns(defaultConns)
	db.SetMaxIdleConns(defaultConns)
	db.SetConnMaxLifetime(oldest)
	db.SetConnMaxIdleTime(idlest)
	if err := db.PingContext(ctx); err != nil {
		return nil, errors.Join(unreachableError(config, err), db.Close())
	}
	return &Existing{db, "postgres://" + net.JoinHostPort(config.Host, strconv.Itoa(int(config.Port))) + "/" + config.Database}, nil
}

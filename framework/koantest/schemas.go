package koantest

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// What a URL of a database says to the app alone (docs/howto/postgresql.md).
const (
	paramPrefix = "schema_prefix"
	paramPool   = "pool_max_conns"
)

// dropping bounds how long the schemas of one test are dropped: another program may hold them.
const dropping = 30 * time.Second

// inPostgreSQL reports whether the value of the setting `database` means PostgreSQL.
func inPostgreSQL(database string) bool {
	return strings.HasPrefix(database, "postgres://") || strings.HasPrefix(database, "postgresql://")
}

// freshSchemas has the app keep its sets in schemas of PostgreSQL that are the test's own, unless
// the URL names a schema_prefix, and drops at the end of the test the schemas of that prefix
// that were not there before: not those of another kit of the same test, which drops them itself.
// It has to be called before what stops the app is left for the end of the test.
func freshSchemas(tb testing.TB, url string) string {
	tb.Helper()
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return url // the app says what is wrong, without the password
	}
	prefix := config.RuntimeParams[paramPrefix]
	if prefix == "" {
		prefix = "kt" + strings.ToLower(rand.Text()[:12])
		sign := "?"
		if strings.Contains(url, "?") {
			sign = "&"
		}
		url += sign + paramPrefix + "=" + prefix
	}
	delete(config.RuntimeParams, paramPrefix)
	delete(config.RuntimeParams, paramPool)
	before, err := schemasOf(tb.Context(), config, prefix)
	if err != nil {
		return url // as above: nothing can be made there
	}
	tb.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), dropping)
		defer cancel()
		if err := dropSchemas(ctx, config, prefix, before); err != nil {
			tb.Errorf("koantest: the schemas %q and %q of the test stay in PostgreSQL: %v", prefix, prefix+".*", err)
		}
	})
	return url
}

// schemasOf returns the schemas of a prefix: the app's own, and that of each set.
func schemasOf(ctx context.Context, config *pgx.ConnConfig, prefix string) ([]string, error) {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	return querySchemas(ctx, conn, prefix)
}

func querySchemas(ctx context.Context, conn *pgx.Conn, prefix string) ([]string, error) {
	rows, err := conn.Query(ctx, `SELECT nspname FROM pg_namespace WHERE nspname = $1 OR starts_with(nspname, $1 || '.') ORDER BY nspname`, prefix)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

// dropSchemas drops those of a prefix that were not there before.
func dropSchemas(ctx context.Context, config *pgx.ConnConfig, prefix string, before []string) error {
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	now, err := querySchemas(ctx, conn, prefix)
	if err != nil {
		return err
	}
	var problems []error
	for _, schema := range now {
		if slices.Contains(before, schema) {
			continue
		}
		// One at a time: each takes a lock for each table, and a server has a place for so many.
		if _, err := conn.Exec(ctx, "DROP SCHEMA IF EXISTS "+pgx.Identifier{schema}.Sanitize()+" CASCADE"); err != nil {
			problems = append(problems, fmt.Errorf("%s: %w", schema, err))
		}
	}
	return errors.Join(problems...)
}

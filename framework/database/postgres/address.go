package postgres

import (
	"crypto/sha256"
	"encoding/hex"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgconn/ctxwatch"

	"github.com/koan-go/koan/framework/fault"
)

// What a URL may say beyond what every client of PostgreSQL knows.
const (
	paramPrefix = "schema_prefix"  // of the schemas' names; the app's name where it is absent
	paramPool   = "pool_max_conns" // connections of this process, as pgxpool calls it
)

const (
	defaultConns = 16
	maxConns     = 1000
	statements   = 128 // prepared statements that each connection keeps
	connecting   = 10 * time.Second
	maxPrefix    = 14 // with a dot and a set of 48 characters, the 63 that a name has
)

var prefixes = regexp.MustCompile(`^[a-z0-9_]{1,14}$`)

// address is a URL taken apart.
type address struct {
	config *pgx.ConnConfig
	prefix string
	conns  int
}

// parse reads the setting. No error of it has the password in it.
func parse(url, app string) (*address, error) {
	config, err := pgx.ParseConfig(url)
	if err != nil {
		return nil, invalidURL("the URL of the database is not valid: %v", err)
	}
	a := &address{config: config, prefix: prefixOf(app), conns: defaultConns}
	if given, ok := config.RuntimeParams[paramPrefix]; ok {
		if !prefixes.MatchString(given) || strings.HasPrefix(given, "pg_") { // PostgreSQL keeps these for itself
			return nil, invalidURL("%s must be lower-case letters, digits and _, at most %d of them and not pg_ first, not %q", paramPrefix, maxPrefix, given)
		}
		a.prefix = given
	}
	if given, ok := config.RuntimeParams[paramPool]; ok {
		if a.conns, err = strconv.Atoi(given); err != nil || a.conns < 2 || a.conns > maxConns {
			return nil, invalidURL("%s must be a number from 2 to %d, not %q", paramPool, maxConns, given)
		}
	}
	if _, ok := config.RuntimeParams["search_path"]; ok {
		return nil, invalidURL("the URL of the database must not have a search_path: each set has its own schema, see %s", paramPrefix)
	}
	delete(config.RuntimeParams, paramPrefix)
	delete(config.RuntimeParams, paramPool)
	// Where names are looked for outside of any set. PgBouncer refuses the parameter
	// until its owner has read that it has to keep sessions; else it would give one
	// set's session to another.
	config.RuntimeParams["search_path"] = quoted(a.prefix)
	if config.RuntimeParams["application_name"] == "" {
		config.RuntimeParams["application_name"] = app
	}
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = connecting
	}
	config.StatementCacheCapacity = statements
	// Who cancels stops the statement, not only the waiting for it: a statement that
	// goes on without anybody would keep its locks. A server that does not answer even then
	// is given up as one that does not answer a connection.
	config.BuildContextWatcherHandler = func(c *pgconn.PgConn) ctxwatch.Handler {
		return &pgconn.CancelRequestContextWatcherHandler{Conn: c, DeadlineDelay: config.ConnectTimeout}
	}
	return a, nil
}

func invalidURL(format string, args ...any) error {
	return fault.Newf(fault.ServiceUnavailable, format, args...).WithPath("/database").
		WithHint("Set `database` to postgres://USER:PASSWORD@HOST/DATABASE; docs/howto/postgresql.md lists its parameters.")
}

// prefixOf makes an app's name a prefix. Names that are too long end in a digest,
// so that two of them stay two.
func prefixOf(app string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, strings.ToLower(app))
	if len(name) <= maxPrefix && name != "" && !strings.HasPrefix(name, "pg_") {
		return name
	}
	sum := sha256.Sum256([]byte(app))
	return "k" + name[:min(len(name), maxPrefix-7)] + hex.EncodeToString(sum[:3])
}

// schemaOf is the schema of a set. No set and no prefix has a dot in it, so that no
// two pairs of them have the same.
func (a *address) schemaOf(set string) string { return a.prefix + "." + set }

func quoted(name string) string { return `"` + strings.ReplaceAll(name, `"`, `""`) + `"` }

package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/koan-go/koan/entities/backend"
	"github.com/koan-go/koan/framework/fault"
)

// The server's codes that mean something here
// (https://www.postgresql.org/docs/current/errcodes-appendix.html).
const (
	serialization   = "40001"
	deadlock        = "40P01"
	outdatedPlan    = "0A000" // "cached plan must not change result type": the set was migrated
	canceled        = "57014"
	lockNotGiven    = "55P03"
	unique          = "23505"
	foreignKey      = "23503"
	notNull         = "23502"
	check           = "23514"
	tooLong         = "22001"
	outOfRange      = "22003"
	noSuchText      = "22P05" // an escape in JSON that no text can hold: \u0000
	notInEncoding   = "22021"
	noPrivilege     = "42501"
	readOnlyServer  = "25006"
	noTable         = "42P01"
	noSchema        = "3F000"
	duplicateSchema = "42P06"
	spoiltBefore    = "25P02"
)

// again tells that an error means: the same once more, on newer data.
func again(err error) bool {
	var e *pgconn.PgError
	if !errors.As(err, &e) {
		return false
	}
	return e.Code == serialization || e.Code == deadlock || e.Code == outdatedPlan && strings.Contains(e.Message, "cached plan")
}

// Violation implements backend.Backend.
func (s *Server) Violation(err error) *backend.Violation { return Violation(err) }

// Violation tells which rule an error of a write broke; nil for none.
func Violation(err error) *backend.Violation {
	var e *pgconn.PgError
	if !errors.As(err, &e) || !strings.HasPrefix(e.Code, "23") {
		return nil
	}
	v := &backend.Violation{Table: e.TableName}
	switch e.Code {
	case unique:
		v.Rule = backend.Unique
	case foreignKey:
		v.Rule = backend.ForeignKey
	case notNull:
		v.Rule = backend.NotNull
	case check:
		v.Rule = backend.Check
	}
	if e.ColumnName != "" {
		v.Columns = []string{e.ColumnName}
	} else if v.Rule == backend.Unique || v.Rule == backend.ForeignKey {
		v.Columns = keyColumns(e.Detail)
	}
	return v
}

// keyColumns reads the columns from "Key (a, "B")=(1, 2) already exists.", in
// whatever language it is said.
func keyColumns(detail string) []string {
	list, _, ok := strings.Cut(detail, ")=(")
	if !ok {
		return nil
	}
	_, list, _ = strings.Cut(list, "(")
	var out []string
	for _, name := range strings.Split(list, ", ") {
		out = append(out, strings.Trim(name, `"`))
	}
	return out
}

// Trouble implements backend.Backend.
func (s *Server) Trouble(set string, err error) (error, bool) {
	var e *pgconn.PgError
	if errors.As(err, &e) {
		return s.refused(set, e, err), true
	}
	if strings.Contains(err.Error(), "failed to encode args") { // pgx has no type for it
		return fault.New(fault.InvalidPayload, "a value is out of the range of its column").Because(err), true
	}
	var connecting *pgconn.ConnectError
	var network net.Error
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return err, false
	case errors.As(err, &connecting):
		return unreachable(s.config, err), true
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.As(err, &network), pgconn.SafeToRetry(err), strings.HasSuffix(err.Error(), "conn closed"):
		return fault.Newf(fault.ServiceUnavailable, "the connection to PostgreSQL at %s broke", where(s.config)).
			WithHint("Try again; if it lasts, look at the server's log.").Because(err), true
	}
	return err, false
}

// refused turns what the server says into a fault. Its own words are for the log:
// they name tables and may quote data.
func (s *Server) refused(set string, e *pgconn.PgError, err error) error {
	unavailable := func(format string, args ...any) *fault.Fault {
		return fault.Newf(fault.ServiceUnavailable, format, args...).Because(err)
	}
	switch e.Code {
	case lockNotGiven, serialization, deadlock:
		return fault.Newf(fault.SetBusy, "the set %q was not free for writing within %s", set, s.patience).Because(err)
	case noPrivilege:
		return unavailable("the database refuses the app's role %s: %s", s.config.User, e.Message).
			WithHint("GRANT CREATE ON DATABASE %s TO %s, and let the role own the schemas.", quoted(s.config.Database), quoted(s.config.User))
	case readOnlyServer:
		return unavailable("the database server takes no writes").WithHint("Connect to the primary: target_session_attrs=read-write in the URL.")
	case noTable, noSchema:
		return unavailable("the schema of the set %q is gone or incomplete", set).WithHint("Restore it, or restart the app to make it anew.")
	case spoiltBefore:
		return unavailable("a statement failed before, and the transaction with it")
	case canceled:
		return unavailable("the database server stopped the statement").WithHint("Look at its statement_timeout.")
	case tooLong:
		return fault.New(fault.InvalidPayload, "a text is longer than its column takes").Because(err)
	case outOfRange:
		return fault.New(fault.InvalidPayload, "a number is out of the range of its column").Because(err)
	case noSuchText, notInEncoding:
		return fault.New(fault.InvalidPayload, "texts, also within JSON, have no NUL characters").Because(err)
	}
	switch e.Code[:2] {
	case "22":
		return fault.New(fault.InvalidPayload, "a value does not fit its column").Because(err)
	case "54":
		return fault.New(fault.InvalidPayload, "a value is too large for its column or an index").Because(err)
	case "08", "57":
		return unavailable("PostgreSQL at %s ends its connections", where(s.config))
	case "53":
		return unavailable("PostgreSQL at %s is out of resources: %s", where(s.config), e.Message).
			WithHint("Look at its disk, and at max_connections.")
	}
	return err
}

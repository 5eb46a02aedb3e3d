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

	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// Trouble implements database.Backend. Where the server is stands in the causes,
// which are for the log.
func (s *Server) Trouble(set string, err error) (error, bool) {
	known, mine := Trouble(set, err)
	return database.At("PostgreSQL at "+serverAddress(s.config)+", as "+s.config.User, err, known), mine
}

// Trouble turns what stands between a set and its database into the fault that it
// is; mine is false for an error of anything else. Its messages reach callers: they
// name no address, file, role or table, and repeat no data.
func Trouble(set string, err error) (as error, mine bool) {
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err, false
	}
	var connecting *pgconn.ConnectError
	if errors.As(err, &connecting) {
		return unavailableFault(err, "the database of %s cannot be reached", database.Named(set)).WithHint("Try again. If it keeps failing, the server's log says why."), true
	}
	if e := answerOf(err); e != nil {
		return serverFault(set, e, err), true
	}
	if strings.Contains(err.Error(), "extended protocol limited to") { // pgx counts parameters
		return database.StatementTooLarge(err), true
	}
	if strings.Contains(err.Error(), "failed to encode args") { // pgx has no type for it
		return fault.New(fault.InvalidPayload, "a value is out of the range of its column").Because(err), true
	}
	var network net.Error
	switch {
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, net.ErrClosed),
		errors.As(err, &network), pgconn.SafeToRetry(err), strings.HasSuffix(err.Error(), "conn closed"):
		return unavailableFault(err, "the connection to the database of %s broke", database.Named(set)).
			WithHint("Try again. If it keeps failing, check the database server's log."), true
	}
	return err, false
}

func unavailableFault(err error, format string, args ...any) *fault.Fault {
	return fault.Newf(fault.ServiceUnavailable, format, args...).Because(err)
}

// serverFault turns what a server says into a fault. What broke a rule of the tables is
// not for it but for Violation.
func serverFault(set string, e *pgconn.PgError, err error) error {
	invalid := func(message string) *fault.Fault { return fault.New(fault.InvalidPayload, message).Because(err) }
	const look = "The server's log has the database's own words."
	switch e.Code {
	case lockNotGiven, serialization, deadlock:
		return fault.Newf(fault.SetBusy, "%s was not free for writing", database.Named(set)).Because(err)
	case noPrivilege:
		return unavailableFault(err, "the database refuses the app's role").
			WithHint("Let the role create schemas in the database and own those of the sets; docs/howto/postgresql.md has the statements. %s", look)
	case readOnlyServer:
		return unavailableFault(err, "the database server is read-only").WithHint("Connect to the primary: target_session_attrs=read-write in the URL.")
	case noTable, noColumn, noSchema:
		return unavailableFault(err, "the tables of %s are missing or incomplete", database.Named(set)).WithHint("Restore them, or restart the app to create them again. %s", look)
	case spoiltBefore:
		return unavailableFault(err, "an earlier statement failed, and the transaction with it")
	case canceled:
		return unavailableFault(err, "the database server cancelled the statement").WithHint("Check its statement_timeout.")
	case diskFull:
		return unavailableFault(err, "the disk of the database server is full").WithHint("Free disk space there.")
	case tooComplex, tooManyColumns, tooManyArguments:
		return database.StatementTooLarge(err)
	case tooLong:
		return invalid("a string is too long for its column")
	case outOfRange:
		return invalid("a number is out of the range of its column")
	case zeroDivisor:
		return invalid("the database divides by zero in a row that was asked for").WithHint("A view or an expression of the database does so: leave such rows out by a filter, or correct it there.")
	case noSuchText, notInEncoding:
		return invalid("strings, also within JSON, must not contain NUL characters")
	}
	switch e.Code[:min(2, len(e.Code))] {
	case "22":
		return invalid("a value does not fit its column")
	case "54":
		return invalid("a value is too large for its column or an index")
	case "08", "57":
		return unavailableFault(err, "the database server is closing its connections").WithHint("Try again shortly. %s", look)
	case "53":
		return unavailableFault(err, "the database server is out of resources").WithHint("Check its memory and max_connections. %s", look)
	case "58", "XX":
		return unavailableFault(err, "the database server failed").WithHint("Check its disk. %s", look)
	}
	return err
}

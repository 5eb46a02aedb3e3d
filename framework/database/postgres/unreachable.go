package postgres

import (
	"errors"
	"fmt"
	"io/fs"
	"net"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/koan-go/koan/framework/fault"
)

// unreachableError says why there is no connection, on one line, and what to do. It is for
// the local operator: it names the server.
func unreachableError(config *pgx.ConnConfig, err error) error {
	return fault.Newf(fault.ServiceUnavailable, "PostgreSQL at %s cannot be reached: %s", serverAddress(config), strings.Join(reasons(err), "; ")).
		WithHint("%s", connectHint(config, err)).Because(err)
}

// unreachableFault is unreachable in words for everybody.
func unreachableFault(config *pgx.ConnConfig, err error) error {
	return fault.New(fault.ServiceUnavailable, "the database cannot be reached").
		WithHint("Try again. If it keeps failing, the server's log says why.").Because(unreachableError(config, err))
}

// connectHint is what to do about a connection that cannot be made.
func connectHint(config *pgx.ConnConfig, err error) string {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return serverHint(config, answer.Code)
	}
	var name *net.DNSError
	var network net.Error
	text := err.Error()
	switch {
	case errors.As(err, &name):
		return fmt.Sprintf("The host name %s cannot be resolved: correct the host in `database`, or check the machine's DNS.", config.Host)
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Sprintf("No server has its socket in %s: start PostgreSQL, or correct the host in `database`.", config.Host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return "Nothing listens there: start PostgreSQL, or correct host and port in `database`."
	case errors.As(err, &network) && network.Timeout(), errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "The host does not answer: correct host and port in `database`, or check the network and its firewalls."
	case strings.Contains(text, "tls"), strings.Contains(text, "x509"):
		return "Check sslmode, sslrootcert and sslcert in `database`, and the server's certificate."
	}
	return "Check `database`, the network and the server's log."
}

// serverHint is what to do about a server's own refusal.
func serverHint(config *pgx.ConnConfig, code string) string {
	switch {
	case code == "08P01":
		return "A pooler between the app and the server must keep sessions: pool_mode = session, and ignore_startup_parameters = search_path."
	case strings.HasPrefix(code, "28"):
		return "Check the user, the password and the server's pg_hba.conf."
	case code == "3D000":
		return "Create the database: createdb " + config.Database + "."
	case code == "53300":
		return "The server has no connection left: raise its max_connections, or lower " + paramPool + " in `database`."
	case code == "57P03":
		return "The server is starting or stopping: try again shortly."
	}
	return "Check `database` and the server's log."
}

func serverAddress(config *pgx.ConnConfig) string {
	if strings.HasPrefix(config.Host, "/") {
		return config.Host + "/" + config.Database
	}
	return config.Host + ":" + strconv.Itoa(int(config.Port)) + "/" + config.Database
}

// reasons are the ends of the chains of errors, each once: pgx tries several addresses,
// and each with and without TLS.
func reasons(err error) (out []string) {
	var answer *pgconn.PgError
	if errors.As(err, &answer) {
		return []string{answer.Message}
	}
	if joined, ok := err.(interface{ Unwrap() []error }); ok { //nolint:errorlint // errors.As would look into it
		for _, e := range joined.Unwrap() {
			for _, r := range reasons(e) {
				if !slices.Contains(out, r) {
					out = append(out, r)
				}
			}
		}
		return out
	}
	if inner := errors.Unwrap(err); inner != nil {
		return reasons(inner)
	}
	return []string{strings.Join(strings.Fields(err.Error()), " ")}
}

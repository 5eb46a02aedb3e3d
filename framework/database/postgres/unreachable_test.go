package postgres

import (
	"net"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/pgtest"
)

// closedPort is an address on which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, l.Close())
	return l.Addr().String()
}

// TestUnreachableServersSayWhatToDo, on one line, each reason once.
func TestUnreachableServersSayWhatToDo(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	silent := listener.Addr().String() // takes connections and says nothing
	t.Cleanup(func() { _ = listener.Close() })
	server := pgtest.Server(t)
	for name, c := range map[string]struct{ url, says, hint string }{
		"refused":     {"postgres://u:secret@" + closedPort(t) + "/d", "/d cannot be reached: connection refused", "start PostgreSQL"},
		"no socket":   {"postgres://u:secret@/d?host=/nowhere", "/nowhere/d cannot be reached: no such file or directory", "has its socket in /nowhere"},
		"no name":     {"postgres://u:secret@nowhere.invalid/d", "nowhere.invalid:5432/d cannot be reached: ", "The host name nowhere.invalid cannot be resolved"},
		"silent":      {"postgres://u:secret@" + silent + "/d?connect_timeout=1", "/d cannot be reached: ", "The host does not answer"},
		"no database": {strings.Replace(server, "/postgres?", "/nowhere?", 1), `/nowhere cannot be reached: database "nowhere" does not exist`, "createdb nowhere"},
		"no role":     {server + "&user=nobody_here", "/postgres cannot be reached: ", "the user, the password"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := Open(c.url, "test", things())
			f := fault.From(err)
			require.Equal(t, fault.ServiceUnavailable, f.Code)
			require.Contains(t, f.Message, c.says)
			require.Contains(t, f.Hint, c.hint)
			require.NotContains(t, f.Message, "\n")
			require.LessOrEqual(t, strings.Count(f.Message, "connection refused"), 1, f.Message)
			require.NotContains(t, f.Message+f.Hint, "secret")
		})
	}
}

// TestCallersSeeNoAddressOfAnUnreachableServer: the log has it.
func TestCallersSeeNoAddressOfAnUnreachableServer(t *testing.T) {
	s := opened(t, pgtest.Place(t), things())
	gone := closedPort(t)
	a, err := parse("postgres://u:secret@"+gone+"/d", "test")
	require.NoError(t, err)
	require.NoError(t, s.keeper.Close())
	s.address, s.keeper = a, a.open(1)
	_, listing := s.Sets(ctx)
	_, owning := s.Own(ctx, nil)
	for _, err := range []error{listing, owning, s.Reach(ctx)} {
		f := fault.From(err)
		require.Equal(t, fault.ServiceUnavailable, f.Code)
		require.NotContains(t, f.Message+f.Hint, gone)
		require.ErrorContains(t, f.Unwrap(), gone)
	}
}

package postgres

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// FuzzAddress: a URL of a database is read, or is a fault at its setting that does not have the password;
// names of schemas fit, and none is PostgreSQL's own.
func FuzzAddress(f *testing.F) {
	const password = "correct-horse-battery"
	for _, query := range []string{
		"", "?schema_prefix=shop&pool_max_conns=8", "?schema_prefix=Shop", "?schema_prefix=" + strings.Repeat("a", 15), "?pool_max_conns=1", "?pool_max_conns=x", "?search_path=a", "?connect_timeout=x", "?sslmode=none", "?host=/tmp",
		"?schema_prefix=%zz", "\x00", "?schema_prefix=pg_x",
	} {
		f.Add(query, "shop")
	}
	f.Add("", "An App With A Long Name")
	f.Add("", "pg_app")
	f.Add("", "")
	f.Fuzz(func(t *testing.T, query, app string) {
		if strings.Contains(password, query) && query != "" || strings.Contains(app, password) {
			return
		}
		a, err := parse("postgres://u:"+password+"@h/d"+query, app)
		if err != nil {
			require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err))
			require.Equal(t, "/database", fault.From(err).Path)
			require.NotContains(t, err.Error(), password)
			return
		}
		require.Regexp(t, `^[a-z0-9_]{1,14}$`, a.prefix)
		require.False(t, strings.HasPrefix(a.prefix, "pg_"), "%s", a.prefix)
		require.LessOrEqual(t, len(a.schemaOf(strings.Repeat("s", 48))), 63)
		require.GreaterOrEqual(t, a.conns, 2)
		require.LessOrEqual(t, a.conns, maxConns)
		require.NotContains(t, a.config.RuntimeParams, paramPrefix)
		require.NotContains(t, a.config.RuntimeParams, paramPool)
		require.Equal(t, quoted(a.prefix), a.config.RuntimeParams["search_path"])
	})
}

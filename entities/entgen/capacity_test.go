package entgen

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// FuzzColumnType: a column type that is understood reads the same when it is written in the plainest way.
func FuzzColumnType(f *testing.F) {
	for _, seed := range []string{"numeric(12,2)", " NUMERIC ( 5 , -2 ) ", "timestamp(3) with time zone", "double precision", "varchar(99999999999999999999)", "numeric(1,99999)", "a(", "int4"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, typ string) {
		got, ok := parseColumnType(typ)
		if !ok {
			return
		}
		plain := got.name
		if got.sized {
			plain = fmt.Sprintf("%s(%d,%d)", got.name, got.first, got.second)
		}
		again, ok := parseColumnType(plain)
		require.True(t, ok, plain)
		require.Equal(t, got, again)
	})
}

package schemasize

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestBeyond(t *testing.T) {
	t.Parallel()
	nested := func(n int) []byte { return []byte(strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n)) }
	require.Empty(t, Beyond(nested(maxDepth), 1<<20))
	require.Equal(t, "it is nested more than 200 levels deep", Beyond(nested(maxDepth+1), 1<<20))
	require.Empty(t, Beyond([]byte(`{"a":"`+strings.Repeat(`{[\\\"`, 300)+`"}`), 1<<20), "in a string")
	require.Equal(t, "it has 7 bytes, and 6 are the most", Beyond([]byte(`{"a":1}`), 6))
}

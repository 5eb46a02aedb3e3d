package observe

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// versionZero is the form of W3C Trace Context, section 3.2, of version 00.
var versionZero = regexp.MustCompile(`^00-([0-9a-f]{32})-([0-9a-f]{16})-[0-9a-f]{2}$`)

// FuzzTraceContext: an id is one of 16 bytes that are not all 0, and of version 00 there is one exactly
// where the standard's grammar has it.
func FuzzTraceContext(f *testing.F) {
	for _, parent := range []string{
		"", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x", "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-x",
		"ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "00-00000000000000000000000000000000-b7ad6b7169203331-01", "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01", "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
	} {
		f.Add(parent, "a=b")
	}
	f.Fuzz(func(t *testing.T, parent, state string) {
		c := TraceContext{Parent: parent, State: state}
		id := c.ID()
		if strings.HasPrefix(parent, "00-") {
			want := ""
			if m := versionZero.FindStringSubmatch(parent); m != nil && strings.Trim(m[1], "0") != "" && strings.Trim(m[2], "0") != "" {
				want = m[1]
			}
			require.Equal(t, want, id)
		}
		b := c.Bounded()
		if id == "" {
			require.Zero(t, b)
			return
		}
		require.Regexp(t, `^[0-9a-f]{32}$`, id)
		require.Equal(t, id, b.ID())
		require.LessOrEqual(t, len(b.State), maxTraceState)
	})
}

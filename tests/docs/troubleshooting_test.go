package docs

import (
	"os"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// TestTroubleshooting checks that docs/troubleshooting.md has a row with a cause and a way out for every
// code, and none for a code that does not exist.
func TestTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	require.NoError(t, err)
	rows := map[string]bool{}
	for _, m := range regexp.MustCompile("(?m)^\\| `([a-z_]+)`[^|]* \\| [^|]+ \\| [^|]+ \\|$").FindAllStringSubmatch(string(page), -1) {
		rows[m[1]] = true
	}
	for _, e := range fault.Entries() {
		require.True(t, rows[string(e.Code)], "no row for %s: %s", e.Code, e.Meaning)
		delete(rows, string(e.Code))
	}
	require.Empty(t, rows)
}

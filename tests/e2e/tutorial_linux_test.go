package e2e

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/soak"
)

// TestTutorial types what the tutorial says, from its first line to its last, and compares what is printed.
func TestTutorial(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	needs.Program(t, "sqlite3")
	needs.Program(t, "curl")
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	r := newReader(t, root)
	t.Cleanup(func() { // the server, where a step before its end has failed
		raw, err := os.ReadFile(filepath.Join(r.home, "errands", "serve.pid"))
		if pid, _ := strconv.Atoi(strings.TrimSpace(string(raw))); err == nil && pid > 0 {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	})
	typed := map[string]bool{}
	for _, b := range blocks(t, "../../docs/tutorial.md") {
		switch b.language {
		case "sh":
			r.sh(b.text)
		case "go":
			r.file(b)
		case "console":
			r.console(b.text)
		default:
			t.Fatalf("nobody types a block of %q", b.language)
		}
		typed[b.section] = true
	}
	require.Len(t, typed, 10, "%v", typed)
}

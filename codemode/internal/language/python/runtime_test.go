package python_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/tests/needs"
)

// The interpreter's side has tests of its own, in Python.
func TestRuntime(t *testing.T) {
	t.Parallel()
	needs.Program(t, "python3")
	i, err := python.Find(t.Context(), "python3", nil)
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), i.Path, "-m", "unittest", "discover", "-s", "tests", "-t", ".")
	cmd.Dir, cmd.Env = "runtime", append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// It has types, which mypy checks as strictly as it can.
func TestRuntimeHasTypes(t *testing.T) {
	t.Parallel()
	needs.Program(t, "mypy")
	cmd := exec.CommandContext(t.Context(), "mypy", "--cache-dir", os.DevNull)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

func TestConfinementHoldsFromTheInside(t *testing.T) {
	t.Parallel()
	checks, err := newSandbox(t).SelfTest(t.Context())
	require.NoError(t, err)
	require.NotEmpty(t, checks)
	for _, c := range checks {
		require.True(t, c.OK, c.Name)
	}
}

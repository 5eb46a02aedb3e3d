package console

import (
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/needs"
)

// Where an app runs Python, the playground has its grammar, completes the names below SDK, and checks as validate does.
func TestPlaygroundInPython(t *testing.T) {
	needs.Browser(t)
	needs.Program(t, "python3")
	link, _ := serve(t, "--codeMode.languages", "javascript,python")
	cmd := exec.CommandContext(t.Context(), "node", "console-python.mjs", link)
	cmd.Dir = "../npm"
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

package e2e

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// readUntil returns what a program writes on a terminal up to some text.
func readUntil(t *testing.T, person *os.File, mark string) string {
	t.Helper()
	require.NoError(t, person.SetReadDeadline(time.Now().Add(30*time.Second)))
	var text strings.Builder
	buf := make([]byte, 4096)
	for !strings.Contains(text.String(), mark) {
		n, err := person.Read(buf)
		require.NoError(t, err, "%q was not written, only %q", mark, text.String())
		text.Write(buf[:n])
	}
	return text.String()
}

// On a terminal the change is shown, and made after a yes alone.
func TestTerminalInstallAsks(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	file := filepath.Join(a.dir, ".cursor", "mcp.json")
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o700))
	for _, answer := range []string{"", "no", "y"} {
		person, program := openTerminal(t)
		cmd := a.command(t.Context(), "install", "cursor")
		cmd.Stdin, cmd.Stdout, cmd.Stderr = program, program, program
		require.NoError(t, cmd.Start())
		shown := readUntil(t, person, "Write this change? [y/N] ")
		require.Contains(t, shown, `+    "fixture": {`)
		require.NoFileExists(t, file)
		_, err := person.WriteString(answer + "\n")
		require.NoError(t, err)
		if answer == "y" {
			readUntil(t, person, "Wrote ")
		} else {
			readUntil(t, person, "Nothing was written.")
		}
		require.NoError(t, cmd.Wait())
	}
	require.FileExists(t, file)
}

// Whoever starts the server by hand is told what it waits for; a client is not.
func TestServeOnTerminalSaysWhatItWaitsFor(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	person, program := openTerminal(t)
	cmd := a.command(t.Context(), "serve")
	var out strings.Builder
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, program
	require.NoError(t, cmd.Start())
	readUntil(t, person, "fixture waits for an MCP client on standard input")
	require.NoError(t, cmd.Process.Signal(os.Interrupt))
	_ = cmd.Wait()
	require.Empty(t, out.String())
	require.NotContains(t, a.exec("", "serve").stderr, "waits for an MCP client")
}

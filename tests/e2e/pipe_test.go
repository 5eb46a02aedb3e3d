package e2e

import (
	"bytes"
	"io"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A client that closes the server's output ends it gracefully: with an exit status and
// its runs rolled back, not by a signal at the next write.
func TestClosedOutputEndsServer(t *testing.T) {
	a := newApp(t)
	cmd := a.command(t.Context(), "serve", "--sandbox.cpuMs", "20000")
	var errs bytes.Buffer
	cmd.Stderr = &errs
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"koan.code.execute","arguments":{"code":"SDK.Entities.Todo.upsert({title: 'x'}); for (;;);"}}}`+"\n")
	require.NoError(t, err)
	time.Sleep(300 * time.Millisecond)
	begun := time.Now()
	require.NoError(t, out.Close())
	_, err = io.WriteString(in, `{"jsonrpc":"2.0","id":2,"method":"ping"}`+"\n")
	require.NoError(t, err)
	_ = cmd.Wait()
	require.Less(t, time.Since(begun), 10*time.Second)
	require.Equal(t, 1, cmd.ProcessState.ExitCode(), "%s\n%s", cmd.ProcessState, errs.String())
	require.Equal(t, 1.0, oneLine(t, a.exec("SDK.Entities.Todo.count()", "run", "-")).Result.Data, "the run was rolled back")
}

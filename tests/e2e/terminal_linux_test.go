package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// openTerminal returns both ends of a new terminal.
func openTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	require.NoError(t, err)
	program, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	require.NoError(t, err)
	t.Cleanup(func() { program.Close() })
	return person, program
}

// On a terminal a person sees every row of a plan, in a pager, before the question.
func TestLongPlanIsPagedOnATerminal(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_APPROVAL_MODE=writes")
	asked := a.lineOf(a.exec(`for (let i = 0; i < 60; i++) SDK.Entities.Todo.upsert({ title: "planned " + i })`, "run", "-"))
	require.Equal(t, "REQUIRED", asked.ApprovalState)

	paged := filepath.Join(a.dir, "paged")
	a.env = append(a.env, "PAGER=tee "+paged)
	person, program := openTerminal(t)
	cmd := a.command(t.Context(), "approve", asked.PlanID)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, program
	require.NoError(t, cmd.Start())
	shown := make(chan string, 1)
	go func() {
		var text strings.Builder
		buf := make([]byte, 4096)
		for !strings.Contains(text.String(), "Approve? [yes/no]") {
			n, err := person.Read(buf)
			if err != nil {
				break
			}
			text.Write(buf[:n])
		}
		shown <- text.String()
	}()
	select {
	case text := <-shown:
		require.Contains(t, text, "Plan "+asked.PlanID+" creates 60 (60 Todo).")
	case <-time.After(30 * time.Second):
		t.Fatal("nobody was asked")
	}
	whole, err := os.ReadFile(paged)
	require.NoError(t, err)
	for i := range 60 {
		require.Contains(t, string(whole), fmt.Sprintf("%q", fmt.Sprint("planned ", i)))
	}
	_, err = person.WriteString("no\n")
	require.NoError(t, err)
	require.NoError(t, cmd.Wait())
	require.Contains(t, out.String(), `"approval_state":"DENIED"`)
}

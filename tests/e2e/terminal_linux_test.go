package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/koan-go/koan/framework/fault"
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
func TestTerminalPagesLongPlan(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_APPROVAL_MODE=writes")
	asked := a.lineOf(a.exec(`for (let i = 0; i < 60; i++) SDK.Entities.Todo.upsert({ title: "planned " + i })`, "run", "-"))
	require.Equal(t, "REQUIRED", asked.ApprovalState)

	paged := filepath.Join(a.dir, "paged")
	a.env = append(a.env, "PAGER=tee "+paged)
	text, answer := a.runUntilQuestion("approve", asked.PlanID)
	require.Contains(t, text, "Plan "+asked.PlanID+" creates 60 (60 Todo).")
	whole, err := os.ReadFile(paged)
	require.NoError(t, err)
	for i := range 60 {
		require.Contains(t, string(whole), fmt.Sprintf("%q", fmt.Sprint("planned ", i)))
	}
	refused := a.lineOf(answer("no"))
	require.Equal(t, "DENIED", refused.ApprovalState)
	require.NotEmpty(t, refused.TraceID)
	require.Contains(t, refused.Result.Metrics, "duration_ms")
}

// Approving a plan on the terminal does not approve the plan that has replaced it
// meanwhile, and the line does not say so.
func TestPlanReplacedBeforeConfirmation(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_APPROVAL_MODE=destructive", "PAGER=cat")
	a.exec(`SDK.Entities.Todo.upsert({ id: "a", title: "seen" })`, "run", "-")
	made := a.lineOf(a.exec(`SDK.Entities.Todo.delete("a")`, "run", "-"))
	_, answer := a.runUntilQuestion("approve", made.PlanID)
	a.exec(`SDK.Entities.Todo.patch("a", { title: "precious" })`, "run", "-")
	other := a.lineOf(a.exec("", "approve", made.PlanID, "--yes"))
	require.Equal(t, []string{string(fault.ApprovalRequired), "REQUIRED"}, []string{other.Result.Error.Code, other.ApprovalState}, "it is another plan now")
	require.NotEqual(t, made.PlanID, other.PlanID)
	r := answer("yes")
	require.Equal(t, 1, r.status)
	late := a.lineOf(r)
	require.Equal(t, []string{string(fault.PlanStale), "REQUIRED", other.PlanID}, []string{late.Result.Error.Code, late.ApprovalState, late.PlanID})
	require.Contains(t, a.exec(`SDK.Entities.Todo.getById("a").title`, "run", "-").stdout, "precious")
}

// A person is asked again about the plan that replaces the approved one.
func TestTerminalAsksAboutTheReplacingPlan(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_APPROVAL_MODE=destructive", "PAGER=cat")
	for word, want := range map[string]string{"yes": "APPROVED", "no": "DENIED"} {
		a.exec(`SDK.Entities.Todo.upsert({ id: "a", title: "seen" })`, "run", "-")
		made := a.lineOf(a.exec(`SDK.Entities.Todo.delete("a")`, "run", "-"))
		_, answer := a.runUntilQuestion("approve", made.PlanID)
		a.exec(`SDK.Entities.Todo.patch("a", { title: "precious" })`, "run", "-")
		ended := a.lineOf(answer("yes\n" + word))
		require.Equal(t, want, ended.ApprovalState)
		require.NotEqual(t, made.PlanID, ended.PlanID, "the line is about the plan that was decided")
		count := a.lineOf(a.exec(`SDK.Entities.Todo.count({ id: "a" })`, "run", "-"))
		require.Equal(t, word == "no", count.Result.Data == 1.0)
		require.NotContains(t, a.exec("", "approve", "--list").stdout, "-")
	}
}

// Nobody is asked about a plan that cannot be applied.
func TestTerminalDoesNotAskAboutStalePlans(t *testing.T) {
	t.Parallel()
	a := newApp(t)
	a.env = append(a.env, "KOAN_APPROVAL_MODE=writes", "PAGER=cat")
	made := a.lineOf(a.exec(addPlanned, "run", "-"))
	replaced := a.lineOf(a.exec(addPlanned, "run", "-"))
	denied := a.exec("", "approve", replaced.PlanID, "--deny")
	require.Equal(t, 1, denied.status, "it is the line of a run that failed")
	require.Equal(t, string(fault.ApprovalDenied), a.lineOf(denied).Result.Error.Code)
	for _, c := range []struct {
		code fault.Code
		args []string
	}{
		{fault.PlanStale, []string{made.PlanID, "--journal.expose"}},
		{fault.PlanStale, []string{made.PlanID, "--codeMode.faces", "[codemode]"}},
		{fault.ApprovalDenied, []string{replaced.PlanID}},
	} {
		person, program := openTerminal(t)
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		cmd := a.command(ctx, append([]string{"approve"}, c.args...)...)
		var out, shown bytes.Buffer
		cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, &shown
		require.Error(t, cmd.Run())
		cancel()
		require.NoError(t, person.Close())
		l := a.lineOf(result{stdout: out.String(), stderr: shown.String()})
		require.Equal(t, string(c.code), l.Result.Error.Code, shown.String())
		require.NotContains(t, shown.String(), "Approve?")
		if c.code == fault.PlanStale {
			require.Contains(t, l.Result.Error.Hint, "codeMode.faces")
			require.Contains(t, l.Result.Error.Hint, "plugins.*")
		}
	}
	require.Equal(t, "DENIED", a.lineOf(a.exec("", "approve", made.PlanID, "--deny", "--journal.expose")).ApprovalState, "a no needs no catalog")
}

// runUntilQuestion runs a command on a terminal until it asks. It returns what is shown there, and a
// function that answers and returns how the command ended.
func (a *app) runUntilQuestion(args ...string) (text string, answer func(string) result) {
	a.t.Helper()
	person, program := openTerminal(a.t)
	cmd := a.command(a.t.Context(), args...)
	var out bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = program, &out, program
	require.NoError(a.t, cmd.Start())
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
	case text = <-shown:
	case <-time.After(30 * time.Second):
		a.t.Fatal("nobody was asked")
	}
	return text, func(word string) result {
		_, err := person.WriteString(word + "\n")
		require.NoError(a.t, err)
		var ended *exec.ExitError
		if err := cmd.Wait(); err != nil {
			require.ErrorAs(a.t, err, &ended)
		}
		return result{stdout: out.String(), status: cmd.ProcessState.ExitCode()}
	}
}

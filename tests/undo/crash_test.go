package undo

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"syscall"
	"testing"

	stdent "entgo.io/ent"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// What the process that is killed is told: where the data is, and the run that it undoes.
const (
	killedPlace = "KOAN_UNDO_PLACE"
	killedRun   = "KOAN_UNDO_RUN"
)

// TestKilledUndo is the process that is killed in the middle of an undo; it does nothing where
// nobody has started it for that.
func TestKilledUndo(t *testing.T) {
	t.Parallel()
	at := os.Getenv(killedPlace)
	if at == "" {
		return
	}
	fx := fixture.App()
	writes := 0
	fx.Entities = ent.Entities(ent.OnClient(func(c *ent.Client) {
		c.Use(func(next stdent.Mutator) stdent.Mutator {
			return stdent.MutateFunc(func(ctx context.Context, m stdent.Mutation) (stdent.Value, error) {
				v, err := next.Mutate(ctx, m)
				if writes++; writes == 3 && framework.Undoing(ctx) {
					_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
				}
				return v, err
			})
		})
	}))
	_, err := startIn(t, at, fx).tryUndo(map[string]any{"runId": os.Getenv(killedRun)})
	t.Fatal("it was not killed: ", err)
}

func TestKilledUndoLeavesNothing(t *testing.T) {
	if pgtest.ForEach(t, TestKilledUndoLeavesNothing) {
		return
	}
	at := place(t)
	a := start0(t, at)
	before := a.dump("default")
	r := a.Run(`
		SDK.Entities.Todo.patch("1", {title: "T", secret: "s"});
		SDK.Entities.Todo.upsertMany([{id: "a", title: "A"}, {id: "b", title: "B"}]);
		SDK.Entities.Step.upsert({id: "s", text: "S", todo: "a"});
		SDK.Entities.Person.upsert({id: "p", name: "P", email: "p@example.org"});
	`, koantest.Input{})
	after := a.dump("default")
	require.NoError(t, a.Instance().Stop(t.Context()))

	child := exec.Command(os.Args[0], "-test.run=^TestKilledUndo$")
	child.Env = append(os.Environ(), killedPlace+"="+at, killedRun+"="+r.RunID)
	out, err := child.CombinedOutput()
	var status *exec.ExitError
	require.True(t, errors.As(err, &status), "%v: %s", err, out)
	require.Equal(t, syscall.SIGKILL, status.Sys().(syscall.WaitStatus).Signal(), "%s", out)

	b := start0(t, at)
	require.Equal(t, after, b.dump("default"), "all or nothing")
	b.undo(r.RunID)
	require.Equal(t, before, b.dump("default"))
}

// What a killed process has committed and not written into the journal cannot be undone, and
// the fault says so.
func TestRunWithoutImages(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunWithoutImages) {
		return
	}
	a := start0(t, place(t))
	r := a.Run(`SDK.Entities.Todo.patch("1", {title: "T"})`, koantest.Input{})
	a.undo(r.RunID)
	db := a.openLedger()
	_, err := db.Exec("UPDATE koan_journal SET images = NULL WHERE id = '" + r.RunID + "'")
	require.NoError(t, err)
	require.NoError(t, db.Close())
	_, err = a.tryUndo(map[string]any{"runId": r.RunID})
	require.ErrorContains(t, err, "recorded without its changes")
}

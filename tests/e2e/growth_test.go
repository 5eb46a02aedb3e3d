package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// asGrowth makes this test binary a version of the app that grows.
const asGrowth = "KOANTEST_GROWTH"

// growthApp is the app that grows, with one place for its data.
type growthApp struct {
	*testing.T
	dir string
	env []string
}

func newGrowthApp(t *testing.T, mode string) *growthApp {
	t.Helper()
	place := "sqlite://" + filepath.Join(t.TempDir(), "data")
	if pgtest.Here(t) {
		place = pgtest.Place(t)
	}
	return &growthApp{T: t, dir: t.TempDir(), env: []string{"PATH=" + os.Getenv("PATH"), "KOAN_DATABASE=" + place, "KOAN_MIGRATIONS_MODE=" + mode}}
}

func (g *growthApp) command(version int, args ...string) *exec.Cmd {
	g.Helper()
	self, err := os.Executable()
	require.NoError(g, err)
	ctx, cancel := context.WithTimeout(g.Context(), 5*time.Minute)
	g.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, self, args...)
	cmd.Dir, cmd.Env = g.dir, append([]string{fmt.Sprint(asGrowth, "=", version), "HOME=" + g.dir}, g.env...)
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// exec runs a version of the app.
func (g *growthApp) exec(version int, args ...string) result {
	g.Helper()
	cmd := g.command(version, args...)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	require.NotNil(g, cmd.ProcessState, "%v", args)
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}
}

// mustExec runs a version of the app that must succeed.
func (g *growthApp) mustExec(version int, args ...string) result {
	g.Helper()
	r := g.exec(version, args...)
	require.Zero(g, r.status, "%v\n%s%s", args, r.stdout, r.stderr)
	return r
}

// script runs a script, and returns its result.
func (g *growthApp) script(version int, code string) any {
	g.Helper()
	file := filepath.Join(g.dir, "script.js")
	require.NoError(g, os.WriteFile(file, []byte(code), 0o600))
	return oneLine(g.T, g.mustExec(version, "run", file)).Result.Data
}

// fill makes sets with one note each, in the app's first version.
func (g *growthApp) fill(sets int) {
	g.Helper()
	p := start(g.T, g.command(1, "serve"))
	require.Nil(g, p.call("initialize", input{"protocolVersion": "2025-11-25", "capabilities": input{}, "clientInfo": input{"name": "e2e", "version": "1"}}).Error)
	p.notify("notifications/initialized", input{})
	for n := range sets {
		r := p.tool("note.upsert", input{"model": input{"id": "n", "title": "t"}, "set": fmt.Sprint("tenant-", n)})
		require.False(g, r.IsError, "%s", r.Structured)
	}
	p.close()
}

// Two processes migrate the same sets at once, others use them meanwhile.
func TestConcurrentMigrations(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestConcurrentMigrations) {
		return
	}
	g := newGrowthApp(t, "auto")
	g.fill(15)
	var group sync.WaitGroup
	for range 3 {
		cmd := g.command(2, "migrate", "apply")
		group.Go(func() {
			out, err := cmd.CombinedOutput()
			require.NoError(t, err, "%s", out)
		})
	}
	group.Wait()
	require.Contains(t, g.mustExec(2, "migrate", "status").stdout, "tenant-14  current")
	require.Equal(t, 0.0, g.script(2, `SDK.Entities.Folder.count({}, { set: "tenant-7" })`))
}

// TestKilledMigrations kills a migration of many sets: afterwards each set is either old
// or new, and the next apply migrates the rest.
func TestKilledMigrations(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestKilledMigrations) {
		return
	}
	g := newGrowthApp(t, "versioned")
	g.mustExec(1, "migrate", "plan", "init")
	g.fill(20)
	g.script(1, `SDK.Entities.Note.upsert({ id: "a", title: "kept" })`)
	time.Sleep(1100 * time.Millisecond)
	g.mustExec(2, "migrate", "plan", "grow")
	killed, start := 0, 100*time.Millisecond
	for range soak.Rounds(2, 5) {
		cmd := g.command(2, "migrate", "apply")
		require.NoError(t, cmd.Start())
		time.Sleep(start/3 + rand.N(start)) // on a machine that is busy too, some come when it is at work
		require.NoError(t, cmd.Process.Kill())
		if cmd.Wait() != nil {
			killed++
		}
		var status struct {
			Sets []struct{ Set, State, Why string }
		}
		begun := time.Now()
		require.NoError(t, json.Unmarshal([]byte(g.exec(2, "migrate", "status", "--json").stdout), &status))
		start = time.Since(begun)
		require.Len(t, status.Sets, 21)
		for _, s := range status.Sets {
			require.True(t, s.State == "current" || s.State == "behind", "%+v", s)
		}
	}
	require.Positive(t, killed)
	g.mustExec(2, "migrate", "apply")
	require.False(t, strings.Contains(g.mustExec(2, "migrate", "status").stdout, "behind"))
	require.Equal(t, "kept", g.script(2, `SDK.Entities.Note.getById("a").title`))
}

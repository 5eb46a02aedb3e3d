package sandbox

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// TestEachLayer starts workers with some of the layers only: scripts run in each, and the
// self-test passes.
func TestEachLayer(t *testing.T) {
	for _, layers := range [][]string{{}, {"seccomp"}, {"landlock"}, {"namespaces"}, {"seccomp", "namespaces"}, {"landlock", "namespaces"}} {
		t.Run(strings.Join(layers, "+"), func(t *testing.T) {
			s, err := New(Options{Layers: layers, Require: layers, PoolSize: 1})
			for _, m := range box(t).Missing() {
				if slices.Contains(layers, m.Layer) {
					require.ErrorContains(t, err, m.Layer+" ("+m.Why+")")
					return
				}
			}
			require.NoError(t, err)
			defer s.Close()
			require.Equal(t, worker.Isolation(layers), s.Isolation())
			require.Empty(t, s.Missing())
			r := execute(t, s, job("SDK.Entities.Todo.getById('1').title"), newHost())
			require.Nil(t, r.Fault)
			checks, err := s.SelfTest(t.Context())
			require.NoError(t, err)
			for _, c := range checks {
				require.True(t, c.OK, "%s: %s", c.Name, c.Detail)
			}
		})
	}
}

// TestMissingLayers uses a program that refuses namespaces, as some containers do.
func TestMissingLayers(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	refusing := scripted(t, `case "$2" in *namespaces*) echo "namespaces: not permitted here" >&2; exit 5;; esac; exec `+self+` "$@"`)
	layers := []string{"seccomp", "namespaces"}
	s, err := New(Options{Program: refusing, Layers: layers, PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, "process+seccomp", s.Isolation())
	require.Equal(t, []Missing{{"namespaces", "namespaces: not permitted here"}}, s.Missing())
	require.Nil(t, execute(t, s, job("1"), newHost()).Fault)

	_, err = New(Options{Program: refusing, Layers: layers, Require: layers, PoolSize: 1})
	require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	require.ErrorContains(t, err, "namespaces (namespaces: not permitted here); there is process+seccomp")
}

// TestWorkerBinary uses this binary as the worker binary beside an app, then one of another
// build.
func TestWorkerBinary(t *testing.T) {
	own, err := os.Executable()
	require.NoError(t, err)
	try := func(programs ...program) (*Sandbox, error) {
		opts, err := Options{PoolSize: 1, StartTimeout: 5 * time.Second}.withDefaults()
		require.NoError(t, err)
		s := &Sandbox{opts: opts, queue: newQueue(1, 1, 1), closing: make(chan struct{})}
		return s, s.tryPrograms(programs)
	}
	dir := t.TempDir()
	require.Empty(t, beside(dir+"/app", binaryName), "there is none yet")
	raw, err := os.ReadFile(own)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(dir+"/koan-worker", raw, 0o755))
	require.Equal(t, dir+"/koan-worker", beside(dir+"/app", binaryName))
	s, err := try(pin(dir + "/koan-worker"))
	require.NoError(t, err)
	defer s.Close()
	require.Equal(t, dir+"/koan-worker", s.Program())

	require.NoError(t, os.Remove(dir+"/koan-worker"))
	require.NoError(t, os.WriteFile(dir+"/koan-worker", []byte("#!/bin/sh\n"), 0o755))
	p, err := s.pool.start()
	require.NoError(t, err, "the binary opened at the start is still used")
	p.end(killedDone)

	stale := program{path: "stale", exec: scripted(t, "exec "+own+" "+otherBuildMarker)}
	self := program{path: own, exec: selfExecutable(own), self: true}
	other, err := try(stale, self)
	require.NoError(t, err)
	defer other.Close()
	require.Empty(t, other.Program(), "a stale binary is not used")
	r, err := other.Execute(context.Background(), job("1"), newHost())
	require.NoError(t, err)
	require.Nil(t, r.Fault)
	_, err = try(stale)
	require.ErrorIs(t, err, errOtherBuild)
}

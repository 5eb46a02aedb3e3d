package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// brokenMarker makes this binary a worker that takes a job and then says
// something that is not of the protocol.
const brokenMarker = "--broken-worker"

// otherBuildMarker makes it one that says that it is of another build.
const otherBuildMarker = "--other-worker"

func init() {
	if len(os.Args) != 2 || os.Args[1] != brokenMarker && os.Args[1] != otherBuildMarker {
		return
	}
	w := wire.NewWriter(os.Stdout)
	if os.Args[1] == otherBuildMarker {
		_ = w.WriteJSON(wire.KindReady, 0, wire.Ready{Protocol: wire.Protocol, Build: "other"})
		os.Exit(0)
	}
	_ = w.WriteJSON(wire.KindReady, 0, wire.Ready{Protocol: wire.Protocol, Build: worker.Build(), Isolation: worker.Isolation(nil), DataBytes: 8 << 30, SizeBytes: 8 << 30})
	if _, err := wire.NewReader(bufio.NewReader(os.Stdin), 64<<20).Read(); err == nil {
		_ = w.Write(wire.KindAccepted, 0)
		_ = w.Write(wire.KindResult, 0, []byte(`{"result":`))
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}

// scripted makes a program of a shell's commands.
func scripted(t *testing.T, commands string) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755), "a worker may run as another user")
	path := filepath.Join(dir, "worker")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+commands+"\n"), 0o755))
	return path
}

func TestABrokenProtocolIsAnExecutionError(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	s, err := New(Options{Program: scripted(t, "exec "+self+" "+brokenMarker), Layers: []string{}, PoolSize: 1})
	require.NoError(t, err)
	defer s.Close()
	r := execute(t, s, job("1"), newHost())
	require.NotNil(t, r.Fault)
	require.Equal(t, fault.ExecutionError, r.Fault.Code)
	require.Contains(t, r.Fault.Message, "protocol")
}

// TestAnIdleWorkerThatDied kills every worker that waits: the next script goes to
// another one, whether or not the host has seen the death yet.
func TestAnIdleWorkerThatDied(t *testing.T) {
	s, err := New(Options{PoolSize: 2})
	require.NoError(t, err)
	defer s.Close()
	for range 5 {
		require.NoError(t, s.Warm(t.Context()))
		s.pool.mu.Lock()
		for _, w := range s.pool.idle {
			require.NoError(t, syscall.Kill(w.cmd.Process.Pid, syscall.SIGKILL))
		}
		s.pool.mu.Unlock()
		r := execute(t, s, job("6 * 7"), newHost())
		require.Nil(t, r.Fault)
		require.Equal(t, "42", string(r.Result))
	}
}

// TestResultsAreMeasuredAsTheyAre has results near the limit of characters that
// HTML would escape.
func TestResultsAreMeasuredAsTheyAre(t *testing.T) {
	executors(t, func(t *testing.T, x wire.Executor) {
		for _, c := range []string{"<", "&", "\u2028", "\u00e4"} {
			n := 262_144/len(c) - 2
			r := execute(t, x, job(strconv.Quote(c)+".repeat("+strconv.Itoa(n)+")"), newHost())
			require.Nil(t, r.Fault, c)
			require.Equal(t, strconv.Itoa(len(r.Result)), strconv.Itoa(n*len(c)+2))
			require.True(t, strings.HasPrefix(string(r.Result), `"`+c+c))
		}
	})
}

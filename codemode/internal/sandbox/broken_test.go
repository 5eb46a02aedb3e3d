package sandbox

import (
	"bufio"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/codemode/worker"
	"github.com/koan-go/koan/framework/fault"
)

// brokenMarker makes this binary a worker that takes a job and then says
// something that is not of the protocol.
const brokenMarker = "--broken-worker"

// otherBuildMarker makes it one that says that it is of another build.
const otherBuildMarker = "--other-worker"

func init() {
	if len(os.Args) < 2 || os.Args[1] != brokenMarker && os.Args[1] != otherBuildMarker {
		return
	}
	w := wire.NewWriter(os.Stdout)
	if os.Args[1] == otherBuildMarker {
		_ = w.WriteJSON(wire.KindReady, 0, wire.Ready{Protocol: wire.Protocol, Build: "other"})
		os.Exit(0)
	}
	_ = w.WriteJSON(wire.KindReady, 0, wire.Ready{Protocol: wire.Protocol, Build: worker.Build(), Isolation: worker.Isolation(nil), DataBytes: 8 << 30, SizeBytes: 8 << 30})
	if job, err := firstJob(); err == nil {
		_ = w.Write(wire.KindAccepted, job.ID)
		for _, f := range lies[os.Args[2]].frames {
			_ = w.Write(f.Kind, f.ID, f.Payload)
		}
		if os.Args[2] == manyThreads {
			for range 2 * maxThreads {
				go func() {
					runtime.LockOSThread()
					time.Sleep(time.Minute)
				}()
			}
		}
		for os.Args[2] == restless {
			runtime.KeepAlive(w)
		}
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}

// firstJob reads what a host sends up to its first job.
func firstJob() (wire.Frame, error) {
	for r := wire.NewReader(bufio.NewReader(os.Stdin), 64<<20); ; {
		if f, err := r.Read(); err != nil || f.Kind == wire.KindJob {
			return f, err
		}
	}
}

// scripted makes a program of a shell's commands.
func scripted(t *testing.T, commands string) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755), "a worker may run as another user")
	path := filepath.Join(dir, "worker")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+commands+"\n"), 0o755))
	return path
}

// manyThreads is a worker that starts threads and says nothing.
const manyThreads = "many threads"

// restless is a worker that computes after its script, belated one that says more then.
const (
	restless = "computes at rest"
	belated  = "speaks at rest"
)

// said are the frames of a worker that a script has taken over.
func said(kind wire.Kind, payload string) wire.Frame {
	return wire.Frame{Kind: kind, ID: 1, Payload: []byte(payload)}
}

func asked(kind wire.Kind, id, input string) wire.Frame {
	return said(kind, string(wire.EncodeCall(id))+input)
}

// lies are what workers say that a script has taken over, and what comes of it: no
// fault where the host makes do with it.
var lies = map[string]struct {
	frames []wire.Frame
	code   fault.Code
}{
	restless:                     {[]wire.Frame{said(wire.KindResult, `{"result":1}`)}, ""},
	belated:                      {[]wire.Frame{said(wire.KindResult, `{"result":1}`), asked(wire.KindCall, "koan::Todo.delete", `{"id":"1"}`)}, ""},
	"a second job":               {[]wire.Frame{said(wire.KindAccepted, "")}, fault.ExecutionError},
	"half a result":              {[]wire.Frame{said(wire.KindResult, `{"result":`)}, fault.ExecutionError},
	"a lone surrogate":           {[]wire.Frame{said(wire.KindResult, `{"result":"\ud800"}`)}, fault.ExecutionError},
	"a lone surrogate, answered": {[]wire.Frame{said(wire.KindResult, `{"answer":"\uDC00"}`)}, fault.ExecutionError},
	"no UTF-8":                   {[]wire.Frame{said(wire.KindResult, "{\"result\":\"\xff\"}")}, fault.ExecutionError},
	"a surrogate that is asked":  {[]wire.Frame{asked(wire.KindCall, "koan::Todo.upsert", `{"model":{"title":"\ud800"}}`)}, fault.ExecutionError},
	"a surrogate that is begun":  {[]wire.Frame{asked(wire.KindStart, "koan::Todo.upsert", `{"model":{"title":"\ud800"}}`)}, fault.ExecutionError},
	"an unknown level":           {[]wire.Frame{said(wire.KindLog, `{"level":"`+strings.Repeat("x", 1<<20)+`","message":"x"}`)}, fault.ExecutionError},
	"a long message":             {[]wire.Frame{said(wire.KindLog, `{"level":"info","message":"`+strings.Repeat("x", 4<<20)+`"}`), said(wire.KindResult, `{}`)}, ""},
	"long progress":              {[]wire.Frame{said(wire.KindProgress, `{"message":"`+strings.Repeat("x", 1<<20)+`"}`)}, fault.ExecutionError},
	"broken emitted value":       {[]wire.Frame{said(wire.KindEmit, `{"a":`)}, fault.ExecutionError},
	"nothing emitted":            {[]wire.Frame{said(wire.KindEmit, ``)}, fault.ExecutionError},
	"a long emitted value":       {[]wire.Frame{said(wire.KindEmit, `"`+strings.Repeat("x", 1<<20)+`"`)}, fault.ExecutionError},
	"too many emitted values":    {slices.Repeat([]wire.Frame{said(wire.KindEmit, `1`)}, wire.MaxEmitted+1), fault.ExecutionError},
	"an unknown code":            {[]wire.Frame{said(wire.KindResult, `{"fault":{"code":"made_up","message":"x","hint":"x","retry":"fix"}}`)}, fault.ExecutionError},
	"an unknown retry":           {[]wire.Frame{said(wire.KindResult, `{"fault":{"code":"not_found","message":"x","hint":"x","retry":"later"}}`)}, fault.ExecutionError},
	"a long fault":               {[]wire.Frame{said(wire.KindResult, `{"fault":{"code":"not_found","message":"`+strings.Repeat("x", 1<<20)+`","hint":"x","retry":"fix"}}`)}, fault.ExecutionError},
	"details of many values":     {[]wire.Frame{said(wire.KindResult, `{"fault":{"code":"not_found","message":"x","hint":"x","retry":"fix","details":[`+strings.Repeat("[],", 1<<20)+`0]}}`)}, fault.ExecutionError},
	"many diagnostics":           {[]wire.Frame{said(wire.KindResult, `{"diagnostics":[`+strings.Repeat("{},", 1<<20)+`{}]}`)}, fault.ExecutionError},
	"success after a limit": {[]wire.Frame{
		asked(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), asked(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), said(wire.KindResult, `{"result":1}`),
	}, fault.SDKCallsExceeded},
	"calls after a limit": {[]wire.Frame{
		asked(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), asked(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), asked(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`),
		asked(wire.KindStart, "koan::Todo.get-by-id", `{"id":"1"}`), said(wire.KindResult, `{"result":1}`),
	}, fault.SDKCallsExceeded},
}

// What a worker says is not believed: the host refuses it, and little of it is kept.
func TestHostDistrustsWorkers(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, lie := range lies {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Program: scripted(t, "exec "+self+" "+brokenMarker+" '"+name+"'"), Layers: []string{}, PoolSize: 1})
			require.NoError(t, err)
			defer s.Close()
			host := newHost()
			host.maxCalls = 1
			r, err := s.Execute(t.Context(), job("1"), host)
			require.LessOrEqual(t, len(host.calls), 2)
			for _, l := range r.Logs {
				require.LessOrEqual(t, len(l.Level)+len(l.Message), 1<<16)
			}
			if lie.code == "" {
				require.NoError(t, err)
				require.Nil(t, r.Fault)
				return
			}
			if err != nil {
				require.Equal(t, lie.code, fault.CodeOf(err))
				return
			}
			require.NotNil(t, r.Fault)
			require.Equal(t, lie.code, r.Fault.Code)
			require.Nil(t, r.Result)
			require.Less(t, len(r.Fault.Message), 1000)
			require.Contains(t, r.Fault.Message, "protocol")
		})
	}
}

// TestHostDistrustsWorkersAtRest: a worker that computes between two scripts is killed,
// and nothing that it says then is taken for the next script's.
func TestHostDistrustsWorkersAtRest(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{restless, belated} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Program: scripted(t, "exec "+self+" "+brokenMarker+" '"+name+"'"), Layers: []string{}, PoolSize: 1})
			require.NoError(t, err)
			defer s.Close()
			require.Nil(t, execute(t, s, of("ann", "1"), newHost()).Fault)
			p := workerOf(s, "ann")
			require.NotNil(t, p)
			if name == belated {
				host := newHost()
				r := execute(t, s, of("ann", "2"), host)
				require.Nil(t, r.Fault)
				require.Empty(t, host.calls)
			}
			select {
			case <-p.exited:
			case <-time.After(20 * time.Second):
				t.Fatal("it goes on")
			}
			require.NotEqual(t, p, workerOf(s, "ann"))
		})
	}
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
		for _, w := range slices.Concat(s.pool.spare, s.pool.resting) {
			assert.NoError(t, syscall.Kill(w.proc.Pid, syscall.SIGKILL))
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

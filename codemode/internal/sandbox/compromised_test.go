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

// brokenMarker makes this binary a worker that accepts a job and then violates the protocol.
const brokenMarker = "--broken-worker"

// otherBuildMarker makes this binary a worker that claims to be of another build.
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
		for _, f := range misbehaviours[os.Args[2]].frames {
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
		for os.Args[2] == busyWhenIdle {
			runtime.KeepAlive(w)
		}
		time.Sleep(time.Minute)
	}
	os.Exit(0)
}

// firstJob reads the host's frames up to the first job.
func firstJob() (wire.Frame, error) {
	for r := wire.NewReader(bufio.NewReader(os.Stdin), 64<<20); ; {
		if f, err := r.Read(); err != nil || f.Kind == wire.KindJob {
			return f, err
		}
	}
}

// scripted writes shell commands into an executable file and returns its path.
func scripted(t *testing.T, commands string) string {
	dir := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(dir), 0o755), "a worker may run as another user")
	path := filepath.Join(dir, "worker")
	require.NoError(t, os.WriteFile(path, []byte("#!/bin/sh\n"+commands+"\n"), 0o755))
	return path
}

// manyThreads is a worker that starts threads and sends nothing.
const manyThreads = "many threads"

// busyWhenIdle is a worker that computes after its script, and callsWhenIdle one that makes
// a call then.
const (
	busyWhenIdle  = "computes when idle"
	callsWhenIdle = "calls when idle"
)

// frameOf returns a frame as a compromised worker may send it.
func frameOf(kind wire.Kind, payload string) wire.Frame {
	return wire.Frame{Kind: kind, ID: 1, Payload: []byte(payload)}
}

func callFrame(kind wire.Kind, id, input string) wire.Frame {
	return frameOf(kind, string(wire.EncodeCall(id))+input)
}

// misbehaviours are frames that compromised workers send after they accepted a job, each
// with the fault that it causes; "" if the host tolerates it.
var misbehaviours = map[string]struct {
	frames []wire.Frame
	code   fault.Code
}{
	busyWhenIdle:                 {[]wire.Frame{frameOf(wire.KindResult, `{"result":1}`)}, ""},
	callsWhenIdle:                {[]wire.Frame{frameOf(wire.KindResult, `{"result":1}`), callFrame(wire.KindCall, "koan::Todo.delete", `{"id":"1"}`)}, ""},
	"a second job":               {[]wire.Frame{frameOf(wire.KindAccepted, "")}, fault.ExecutionError},
	"half a result":              {[]wire.Frame{frameOf(wire.KindResult, `{"result":`)}, fault.ExecutionError},
	"a lone surrogate":           {[]wire.Frame{frameOf(wire.KindResult, `{"result":"\ud800"}`)}, fault.ExecutionError},
	"a lone surrogate, answered": {[]wire.Frame{frameOf(wire.KindResult, `{"answer":"\uDC00"}`)}, fault.ExecutionError},
	"no UTF-8":                   {[]wire.Frame{frameOf(wire.KindResult, "{\"result\":\"\xff\"}")}, fault.ExecutionError},
	"a surrogate in a call":      {[]wire.Frame{callFrame(wire.KindCall, "koan::Todo.upsert", `{"model":{"title":"\ud800"}}`)}, fault.ExecutionError},
	"a surrogate in a start":     {[]wire.Frame{callFrame(wire.KindStart, "koan::Todo.upsert", `{"model":{"title":"\ud800"}}`)}, fault.ExecutionError},
	"an unknown level":           {[]wire.Frame{frameOf(wire.KindLog, `{"level":"`+strings.Repeat("x", 1<<20)+`","message":"x"}`)}, fault.ExecutionError},
	"a long message":             {[]wire.Frame{frameOf(wire.KindLog, `{"level":"info","message":"`+strings.Repeat("x", 4<<20)+`"}`), frameOf(wire.KindResult, `{}`)}, ""},
	"broken emitted value":       {[]wire.Frame{frameOf(wire.KindEmit, `{"a":`)}, fault.ExecutionError},
	"nothing emitted":            {[]wire.Frame{frameOf(wire.KindEmit, ``)}, fault.ExecutionError},
	"a long emitted value":       {[]wire.Frame{frameOf(wire.KindEmit, `"`+strings.Repeat("x", 1<<20)+`"`)}, fault.ExecutionError},
	"too many emitted values":    {slices.Repeat([]wire.Frame{frameOf(wire.KindEmit, `1`)}, wire.MaxEmitted+1), fault.ExecutionError},
	"long progress":              {[]wire.Frame{frameOf(wire.KindProgress, `{"message":"`+strings.Repeat("x", 1<<20)+`"}`)}, fault.ExecutionError},
	"an unknown code":            {[]wire.Frame{frameOf(wire.KindResult, `{"fault":{"code":"made_up","message":"x","hint":"x","retry":"fix"}}`)}, fault.ExecutionError},
	"an unknown retry":           {[]wire.Frame{frameOf(wire.KindResult, `{"fault":{"code":"not_found","message":"x","hint":"x","retry":"later"}}`)}, fault.ExecutionError},
	"a long fault":               {[]wire.Frame{frameOf(wire.KindResult, `{"fault":{"code":"not_found","message":"`+strings.Repeat("x", 1<<20)+`","hint":"x","retry":"fix"}}`)}, fault.ExecutionError},
	"details of many values":     {[]wire.Frame{frameOf(wire.KindResult, `{"fault":{"code":"not_found","message":"x","hint":"x","retry":"fix","details":[`+strings.Repeat("[],", 1<<20)+`0]}}`)}, fault.ExecutionError},
	"many diagnostics":           {[]wire.Frame{frameOf(wire.KindResult, `{"diagnostics":[`+strings.Repeat("{},", 1<<20)+`{}]}`)}, fault.ExecutionError},
	"success after a limit": {[]wire.Frame{
		callFrame(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), callFrame(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), frameOf(wire.KindResult, `{"result":1}`),
	}, fault.SDKCallsExceeded},
	"calls after a limit": {[]wire.Frame{
		callFrame(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), callFrame(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`), callFrame(wire.KindCall, "koan::Todo.get-by-id", `{"id":"1"}`),
		callFrame(wire.KindStart, "koan::Todo.get-by-id", `{"id":"1"}`), frameOf(wire.KindResult, `{"result":1}`),
	}, fault.SDKCallsExceeded},
}

// TestHostRejectsInvalidFrames sends invalid and oversized frames: the host rejects them and
// keeps little of them.
func TestHostRejectsInvalidFrames(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for name, lie := range misbehaviours {
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

// TestHostKillsMisbehavingIdleWorkers checks that a worker is killed if it computes between
// two scripts, and that frames which it sends then are not taken for the next script's.
func TestHostKillsMisbehavingIdleWorkers(t *testing.T) {
	self, err := os.Executable()
	require.NoError(t, err)
	for _, name := range []string{busyWhenIdle, callsWhenIdle} {
		t.Run(name, func(t *testing.T) {
			s, err := New(Options{Program: scripted(t, "exec "+self+" "+brokenMarker+" '"+name+"'"), Layers: []string{}, PoolSize: 1})
			require.NoError(t, err)
			defer s.Close()
			require.Nil(t, execute(t, s, of("ann", "1"), newHost()).Fault)
			p := workerOf(s, "ann")
			require.NotNil(t, p)
			if name == callsWhenIdle {
				host := newHost()
				r := execute(t, s, of("ann", "2"), host)
				require.Nil(t, r.Fault)
				require.Empty(t, host.calls)
			}
			select {
			case <-p.exited:
			case <-time.After(20 * time.Second):
				t.Fatal("the worker is still running")
			}
			require.NotEqual(t, p, workerOf(s, "ann"))
		})
	}
}

// TestKilledIdleWorkersAreSkipped kills every ready worker from outside. The next script runs
// in another one, whether or not the host has noticed the kill yet.
func TestKilledIdleWorkersAreSkipped(t *testing.T) {
	s, err := New(Options{PoolSize: 2})
	require.NoError(t, err)
	defer s.Close()
	for range 5 {
		require.NoError(t, s.Warm(t.Context()))
		s.pool.mu.Lock()
		for _, w := range slices.Concat(s.pool.unassigned, s.pool.idle) {
			assert.NoError(t, syscall.Kill(w.proc.Pid, syscall.SIGKILL))
		}
		s.pool.mu.Unlock()
		r := execute(t, s, job("6 * 7"), newHost())
		require.Nil(t, r.Fault)
		require.Equal(t, "42", string(r.Result))
	}
}

// TestResultSizeIsThatOfUnescapedJSON returns results just below the limit, of characters that
// encoding/json escapes for HTML.
func TestResultSizeIsThatOfUnescapedJSON(t *testing.T) {
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

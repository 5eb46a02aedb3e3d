package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

func TestWallLimit(t *testing.T) {
	for name, code := range map[string]string{
		"loop": "console.log('a'); for (;;);",
		"call": "console.log('a'); SDK.Vision.detect()",
	} {
		t.Run(name, func(t *testing.T) {
			h := newHost()
			h.serve = map[string]func(context.Context, json.RawMessage) (string, error){
				"plugin::vision.detect": func(ctx context.Context, _ json.RawMessage) (string, error) {
					<-ctx.Done()
					return "", ctx.Err()
				},
			}
			ctx, cancel := context.WithTimeout(t.Context(), 150*time.Millisecond)
			defer cancel()
			began := time.Now()
			r, err := box(t).Execute(ctx, job(code), h)
			require.Less(t, time.Since(began), 400*time.Millisecond)
			require.ErrorIs(t, err, context.DeadlineExceeded)
			require.Equal(t, fault.Timeout, r.Fault.Code)
			require.Equal(t, map[string]any{"limit": "wall"}, r.Fault.Details)
			require.Len(t, r.Logs, 1)
			if name == "loop" && r.Fault.Line != 0 { // on a busy machine it is killed instead
				require.Equal(t, 1, r.Fault.Line)
			}
		})
	}
}

func TestWallLimitNamesTheLine(t *testing.T) {
	for i := 0; ; i++ {
		ctx, cancel := context.WithTimeout(t.Context(), 60*time.Millisecond)
		r, err := box(t).Execute(ctx, job("let n = 0;\nfor (;;) {\n  n++\n}"), newHost())
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded)
		require.Equal(t, fault.Timeout, r.Fault.Code)
		if r.Fault.Line > 1 { // a busy machine stops it before the loop
			require.Contains(t, []int{2, 3}, r.Fault.Line)
			require.NotEmpty(t, r.Fault.Source)
			return
		}
		require.Less(t, i, 20, "a busy machine may not let a script stop itself, but not always")
	}
}

func TestWaitingForHostIsNotCPUTime(t *testing.T) {
	h := newHost()
	h.serve = map[string]func(context.Context, json.RawMessage) (string, error){
		"plugin::vision.detect": func(context.Context, json.RawMessage) (string, error) {
			time.Sleep(150 * time.Millisecond)
			return "{}", nil
		},
	}
	executors(t, func(t *testing.T, x wire.Executor) {
		j := job("SDK.Vision.detect(); SDK.Vision.detect(); 1")
		j.Limits.CPUMs = 100
		r := execute(t, x, j, h)
		require.Nil(t, r.Fault)
		require.Less(t, r.CPUMs, 100.0)
	})
}

func TestCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	r, err := box(t).Execute(ctx, job("for (;;);"), newHost())
	require.ErrorIs(t, err, context.Canceled)
	require.Equal(t, fault.Cancelled, r.Fault.Code)
}

func TestNewAttemptEndsScript(t *testing.T) {
	// A wrapped quota fault takes the place of a store's error, for which run.Ends reports
	// true as well.
	wrapped := errors.Join(errors.New("attempt 1"), fault.New(fault.SDKCallsExceeded, ""))
	executors(t, func(t *testing.T, x wire.Executor) {
		h := newHost()
		h.serve = map[string]func(context.Context, json.RawMessage) (string, error){
			"koan::Todo.count": func(context.Context, json.RawMessage) (string, error) { return "", wrapped },
		}
		r, err := x.Execute(t.Context(), job("try { SDK.Entities.Todo.count() } catch {} for (;;);"), h)
		require.Equal(t, wrapped, err)
		require.NotNil(t, r)
	})
}

func TestCloseKillsWorkers(t *testing.T) {
	s, err := New(Options{PoolSize: 3})
	require.NoError(t, err)
	var wg sync.WaitGroup
	for range 3 {
		wg.Go(func() {
			_, err := s.Execute(context.Background(), job("for (;;);"), newHost())
			require.Equal(t, fault.Cancelled, fault.CodeOf(err))
		})
	}
	time.Sleep(100 * time.Millisecond)
	require.NoError(t, s.Close())
	wg.Wait()
	require.NoError(t, s.Close(), "twice does no harm")
	_, err = s.Execute(context.Background(), job("1"), newHost())
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for p := range s.pool.all {
		require.True(t, p.hasExited())
	}
}

func TestManyAtOnce(t *testing.T) {
	s, err := New(Options{MaxWorkers: 3})
	require.NoError(t, err)
	defer s.Close()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			r, err := s.Execute(context.Background(), job("SDK.Entities.Todo.getById('1').title"), newHost())
			require.NoError(t, err)
			require.Nil(t, r.Fault)
		})
	}
	wg.Wait()
}

func TestKilledIdleWorkersAreReplaced(t *testing.T) {
	s, err := New(Options{PoolSize: 2})
	require.NoError(t, err)
	defer s.Close()
	require.NoError(t, s.Warm(t.Context()))
	s.pool.mu.Lock()
	idle := slices.Clone(s.pool.unassigned)
	for _, p := range idle {
		assert.NoError(t, p.proc.Kill())
	}
	s.pool.mu.Unlock()
	for _, p := range idle {
		<-p.exited
	}
	require.NoError(t, s.Warm(t.Context()))
	s.pool.mu.Lock()
	for _, p := range s.pool.unassigned {
		assert.NotContains(t, idle, p)
	}
	s.pool.mu.Unlock()
	r := execute(t, s, job("1"), newHost())
	require.Nil(t, r.Fault)
}

func TestMemoryLimit(t *testing.T) {
	j := job("const a = []; for (;;) a.push({x: 'y' + a.length})")
	j.Limits.MemoryBytes = 24 << 20
	j.Limits.CPUMs = 5000
	r := execute(t, box(t), j, newHost())
	require.Equal(t, fault.MemoryExceeded, r.Fault.Code)
	require.Less(t, r.PeakMemory, int64(80<<20))
}

func TestSelfTest(t *testing.T) {
	checks, err := box(t).SelfTest(t.Context())
	require.NoError(t, err)
	require.Greater(t, len(checks), 25)
	for _, c := range checks {
		require.True(t, c.OK, "%s: %s", c.Name, c.Detail)
	}
}

func TestInvalidProgram(t *testing.T) {
	for name, program := range map[string]string{
		"absent":       "/nonexistent",
		"no worker":    "/bin/true",
		"talks":        "/bin/echo",
		"never starts": scripted(t, "exec sleep 60"),
	} {
		t.Run(name, func(t *testing.T) {
			_, err := New(Options{Program: program, StartTimeout: 200 * time.Millisecond})
			require.Error(t, err)
		})
	}
}

func TestOptions(t *testing.T) {
	_, err := New(Options{PoolSize: -1})
	require.Error(t, err)
	for _, o := range []Options{{Require: []string{"prayer"}}, {Layers: []string{"prayer"}}, {Layers: []string{}, Require: []string{"seccomp"}}} {
		_, err = New(o)
		require.Equal(t, fault.CapabilityUnsupported, fault.CodeOf(err))
	}
	_, err = box(t).Execute(t.Context(), &wire.Job{Limits: wire.Limits{CPUMs: -1}}, newHost())
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
}

// TestWorkersDieWithHost kills a host and waits until its workers have exited.
func TestWorkersDieWithHost(t *testing.T) {
	if os.Getenv("SANDBOX_TEST_HOST") != "" {
		s, err := New(Options{})
		require.NoError(t, err)
		require.NoError(t, s.Warm(t.Context()))
		_, _ = os.Stdout.WriteString("pids " + strings.Join(children(), " ") + "\n")
		select {}
	}
	cmd := exec.Command("/proc/self/exe", "-test.run", "^TestWorkersDieWithHost$")
	cmd.Env = append(os.Environ(), "SANDBOX_TEST_HOST=1")
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	b := make([]byte, 1024)
	n, err := out.Read(b)
	require.NoError(t, err)
	pids := strings.Fields(string(b[:n]))[1:]
	require.NotEmpty(t, pids)
	require.NoError(t, cmd.Process.Kill())
	_ = cmd.Wait()
	require.Eventually(t, func() bool {
		for _, pid := range pids {
			if b, err := os.ReadFile("/proc/" + pid + "/stat"); err == nil && !strings.Contains(string(b), ") Z ") {
				return false
			}
		}
		return true
	}, 5*time.Second, 10*time.Millisecond)
}

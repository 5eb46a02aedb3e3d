package sandbox

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// of returns a job of a caller.
func of(principal, code string) *wire.Job {
	j := job(code)
	j.Principal = principal
	return j
}

func sandboxWith(t *testing.T, o Options) *Sandbox {
	t.Helper()
	s, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, s.Close()) })
	return s
}

// TestWorkerServesOneOwner runs scripts of several callers with two views each, with fewer
// workers than owners: no worker runs the scripts of two owners.
func TestWorkerServesOneOwner(t *testing.T) {
	s := sandboxWith(t, Options{PoolSize: 1, MaxWorkers: 3})
	random := rand.New(rand.NewPCG(1, 1))
	owners, reused := map[int]string{}, 0
	for range 120 {
		j := of("caller "+strconv.Itoa(random.IntN(5)), "SDK.Entities.Todo.getById('1').title")
		j.Bindings.Version = strconv.Itoa(random.IntN(2))
		who := j.Principal + " with view " + j.Bindings.Version
		r, pid := executeWithPID(t, s, j)
		require.Nil(t, r.Fault)
		require.NotZero(t, pid)
		if owner, known := owners[pid]; known {
			reused++
			require.Equal(t, owner, who)
		}
		owners[pid] = who
		s.pool.mu.Lock()
		alive := s.pool.alive
		s.pool.mu.Unlock()
		require.LessOrEqual(t, alive, 4, "the least recently used ones are evicted")
	}
	require.Positive(t, reused)
}

func TestScriptsOfOneCallerShareWorker(t *testing.T) {
	s := sandboxWith(t, Options{})
	_, first := executeWithPID(t, s, of("ann", "1"))
	for _, code := range []string{"2", "throw new Error('x')", "null.x", "let a = ;", "SDK.Entities.Todo.getById('none')", "await new Promise(() => {})", "3"} {
		_, pid := executeWithPID(t, s, of("ann", code))
		require.Equal(t, first, pid, code)
	}
	check := of("ann", "SDK.Entities.Nope.all()")
	check.Task = wire.Validate
	_, pid := executeWithPID(t, s, check)
	require.Equal(t, first, pid)
}

func TestFreshUsesNewWorkerPerScript(t *testing.T) {
	s := sandboxWith(t, Options{Fresh: true})
	seen := map[int]bool{}
	for range 10 {
		r, pid := executeWithPID(t, s, of("ann", "1"))
		require.Nil(t, r.Fault)
		if pid != 0 { // 0: it has been reaped already
			require.False(t, seen[pid])
		}
		seen[pid] = true
	}
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	require.Empty(t, s.pool.idle)
}

// workerOf returns an idle worker of a caller, nil if there is none.
func workerOf(s *Sandbox, principal string) *process {
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	for _, p := range s.pool.idle {
		if p.owner.principal == principal {
			return p
		}
	}
	return nil
}

// TestWorkerIsDiscardedAfterLimit checks that a worker gets no other script after its script
// exceeded a limit or the engine failed.
func TestWorkerIsDiscardedAfterLimit(t *testing.T) {
	s := sandboxWith(t, Options{})
	hung := newHost()
	hung.serve = map[string]func(context.Context, json.RawMessage) (string, error){
		"plugin::vision.detect": func(ctx context.Context, _ json.RawMessage) (string, error) {
			<-ctx.Done()
			return "", ctx.Err()
		},
	}
	for name, c := range map[string]struct {
		code  string
		wall  time.Duration
		calls int
		fault fault.Code
	}{
		"CPU":              {code: "for (;;);", fault: fault.Timeout},
		"wall":             {code: "SDK.Vision.detect()", wall: 50 * time.Millisecond, fault: fault.Timeout},
		"memory":           {code: "const a = []; for (;;) a.push({x: 'y' + a.length})", fault: fault.MemoryExceeded},
		"one allocation":   {code: "'x'.repeat(2 ** 28)", fault: fault.MemoryExceeded},
		"calls":            {code: "for (;;) SDK.Entities.Todo.getById('1')", calls: 3, fault: fault.SDKCallsExceeded},
		"a large result":   {code: "'x'.repeat(1e6)", fault: fault.ResultTooLarge},
		"a large call":     {code: "SDK.Vision.detect('x'.repeat(9e6))", fault: fault.CallTooLarge},
		"recursion":        {code: "(function f() { f() })()", fault: fault.JavaScriptError},
		"the engine fails": {code: "JSON.parse('['.repeat(5e6))", fault: fault.MemoryExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			execute(t, s, of("ann", "1"), newHost())
			before := workerOf(s, "ann")
			require.NotNil(t, before)
			ctx, h := t.Context(), newHost()
			if h.maxCalls = c.calls; c.wall > 0 {
				limited, cancel := context.WithTimeout(ctx, c.wall)
				defer cancel()
				ctx, h = limited, hung
			}
			scripts := before.scripts
			r, _ := s.Execute(ctx, of("ann", c.code), h)
			require.NotNil(t, r.Fault)
			require.Equal(t, c.fault, r.Fault.Code, "%v", r.Fault)
			s.pool.mu.Lock()
			used := before.scripts
			s.pool.mu.Unlock()
			require.Greater(t, used, scripts, "it ran in that process")
			select {
			case <-before.exited:
			case <-time.After(10 * time.Second):
				t.Fatal("the worker is still running")
			}
		})
	}
}

func TestWorkerIsReplacedAfterMaxScripts(t *testing.T) {
	s := sandboxWith(t, Options{})
	pids := map[int]int{}
	for range maxScripts + 1 {
		_, pid := executeWithPID(t, s, of("ann", "1"))
		pids[pid]++
	}
	delete(pids, 0) // after its last script a worker may have been reaped already
	require.LessOrEqual(t, len(pids), 2)
	for _, n := range pids {
		require.LessOrEqual(t, n, maxScripts)
	}
	require.EqualValues(t, 1, workerOf(s, "ann").scripts)
}

func TestWorkerIsDiscardedWhenItHoldsTooMuch(t *testing.T) {
	s := sandboxWith(t, Options{})
	r := execute(t, s, of("ann", "globalThis.a = []; for (let i = 0; i < 8e4; i++) a.push({x: 'y' + i}); a.length"), newHost())
	require.Nil(t, r.Fault, "%v", r.Fault)
	require.Greater(t, r.PeakMemory, int64(50<<20), "the script must use much memory for this test")
	require.Nil(t, workerOf(s, "ann"))
}

// TestLimitsApplyPerScript checks that the CPU time and memory of earlier scripts neither
// count against the next script's limits nor appear in its result.
func TestLimitsApplyPerScript(t *testing.T) {
	s := sandboxWith(t, Options{})
	burn := of("ann", "let n = 0; for (let i = 0; i < 5e5; i++) n += i; n")
	burn.Limits.CPUMs = 500
	first := execute(t, s, burn, newHost())
	sum := first.CPUMs
	for i := 0; i < 40 && sum < 2000; i++ {
		r := execute(t, s, burn, newHost())
		require.Nil(t, r.Fault)
		require.Less(t, r.CPUMs, 500.0)
		sum += r.CPUMs
	}
	require.Greater(t, sum, 500.0)

	fill := of("ben", "const a = []; for (let i = 0; i < 4e4; i++) a.push({x: 'y' + i}); a.length")
	for range 8 {
		r := execute(t, s, fill, newHost())
		require.Nil(t, r.Fault, "%v", r.Fault)
	}
	small := execute(t, s, of("ben", "1"), newHost())
	require.Less(t, small.PeakMemory, int64(17+32+10)<<20)
}

// TestIdleWorkersAreSwept backdates an idle worker by maxIdleTime: the next sweep discards it.
func TestIdleWorkersAreSwept(t *testing.T) {
	s := sandboxWith(t, Options{})
	execute(t, s, of("ann", "1"), newHost())
	p := workerOf(s, "ann")
	require.NotNil(t, p)
	s.pool.sweep()
	require.Equal(t, p, workerOf(s, "ann"))
	s.pool.mu.Lock()
	p.idleSince = p.idleSince.Add(-maxIdleTime)
	s.pool.mu.Unlock()
	select {
	case <-p.exited: // the timer runs sweep
	case <-time.After(20 * time.Second):
		t.Fatal("the worker is still idle")
	}
	require.Nil(t, workerOf(s, "ann"))
}

// TestConcurrentScriptsHaveSeparateWorkers has scripts of one caller wait for each other in
// calls to the host.
func TestConcurrentScriptsHaveSeparateWorkers(t *testing.T) {
	s := sandboxWith(t, Options{})
	const n = 4
	var inside atomic.Int32
	all := make(chan struct{})
	host := newHost()
	host.serve = map[string]func(context.Context, json.RawMessage) (string, error){
		"plugin::vision.detect": func(ctx context.Context, _ json.RawMessage) (string, error) {
			if inside.Add(1) == n {
				close(all)
			}
			select {
			case <-all:
			case <-ctx.Done():
			}
			return "{}", ctx.Err()
		},
	}
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	var ended sync.WaitGroup
	for range n {
		ended.Go(func() {
			r, err := s.Execute(ctx, of("ann", "SDK.Vision.detect(); 1"), host)
			assert.NoError(t, err)
			assert.Nil(t, r.Fault)
		})
	}
	ended.Wait()
	s.pool.mu.Lock()
	defer s.pool.mu.Unlock()
	require.Len(t, s.pool.idle, n)
}

// TestPoolShrinksAfterBurst checks that few of the workers of a burst are kept.
func TestPoolShrinksAfterBurst(t *testing.T) {
	s := sandboxWith(t, Options{PoolSize: 1})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			r, err := s.Execute(t.Context(), of("caller "+strconv.Itoa(i%20), "SDK.Entities.Todo.getById('1').title"), newHost())
			assert.NoError(t, err)
			assert.Nil(t, r.Fault)
		})
	}
	all.Wait()
	require.Eventually(t, func() bool {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return s.pool.starting == 0 && s.pool.ending == 0 && len(s.pool.all) == s.pool.alive && s.pool.alive <= 4*runtime.NumCPU()+1
	}, 20*time.Second, time.Millisecond)
}

// TestCancelledDispatchLeaksNoWorker checks that a job that is cancelled just as it gets its
// worker returns the worker to the pool.
func TestCancelledDispatchLeaksNoWorker(t *testing.T) {
	s := sandboxWith(t, Options{PoolSize: 1})
	gone, leave := context.WithCancel(t.Context())
	leave()
	for range 20 {
		_, err := s.dispatch(gone, of("ann", "1"), newHost(), place{})
		require.ErrorIs(t, err, context.Canceled)
	}
	require.Eventually(t, func() bool {
		s.pool.mu.Lock()
		defer s.pool.mu.Unlock()
		return s.pool.starting == 0 && len(s.pool.waiters) == 0 && len(s.pool.unassigned)+len(s.pool.idle) == len(s.pool.all)
	}, 20*time.Second, time.Millisecond)
}

// TestSmallScriptsFitSmallLimits checks that the memory which the runtime of a new worker
// needs does not count as the script's.
func TestSmallScriptsFitSmallLimits(t *testing.T) {
	s := sandboxWith(t, Options{})
	for _, mb := range []int64{1, 2, 4, 8, 16} {
		for i := range 8 {
			j := of("caller "+strconv.Itoa(i/2), "[1, 2, 3].map(x => x + SDK.Entities.Todo.getById('1').title.length)")
			j.Limits.MemoryBytes = mb << 20
			r := execute(t, s, j, newHost())
			require.Nil(t, r.Fault, "%d MB: %v", mb, r.Fault)
		}
	}
}

package cluster

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// writers write through the balancer as long as they may, each run under a key of its own, which they send again until
// they know that it has happened.
type writers struct {
	d       *deployment
	name    string // of the runs
	over    chan struct{}
	wait    sync.WaitGroup
	mu      sync.Mutex
	done    map[string]bool // the titles of acknowledged runs
	last    atomic.Int64    // when the last was acknowledged, in ns
	again   atomic.Int64    // how often a run had to be sent again
	lastWhy atomic.Value
}

func write(d *deployment, name string, n int) *writers {
	w := &writers{d: d, name: name, over: make(chan struct{}), done: map[string]bool{}}
	for i := range n {
		w.wait.Go(func() { w.run(i) })
	}
	return w
}

func (w *writers) run(n int) {
	for i := 0; ; i++ {
		title := fmt.Sprintf("%s %d.%d", w.name, n, i)
		for {
			ok, _, why := w.d.execute("key "+title, "return SDK.Entities.Todo.create({ title: SDK.args.title }).id", map[string]any{"title": title})
			if ok {
				break
			}
			w.again.Add(1)
			w.lastWhy.Store(why)
			select {
			case <-w.over:
				return // whether it has happened is not asked any more
			case <-time.After(50 * time.Millisecond):
			}
		}
		w.last.Store(time.Now().UnixNano())
		w.mu.Lock()
		w.done[title] = true
		w.mu.Unlock()
		select {
		case <-w.over:
			return
		default:
		}
	}
}

// goOn waits until a run is acknowledged that was begun after now, and returns how long that took.
func (w *writers) goOn(t *testing.T, within time.Duration, after string) time.Duration {
	t.Helper()
	began := time.Now()
	for w.last.Load() <= began.UnixNano() {
		why, _ := w.lastWhy.Load().(string)
		require.Less(t, time.Since(began), within, "nothing is acknowledged after %s: %s", after, why)
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(began)
}

// stop ends the writers, and returns the titles that were acknowledged.
func (w *writers) stop() map[string]bool {
	close(w.over)
	w.wait.Wait()
	return w.done
}

// stored returns how often each title is in the data.
func (d *deployment) stored() map[string]int {
	d.t.Helper()
	var counts map[string]int
	require.Eventually(d.t, func() bool {
		leader := d.leader()
		if leader < 0 {
			return false
		}
		raw := pgtest.Value(d.t, d.superuser(leader, "todo"), `SELECT string_agg(title, E'\n') FROM "fixture.default".todos`)
		counts = map[string]int{}
		for _, title := range strings.Split(raw, "\n") {
			counts[title]++
		}
		return true
	}, time.Minute, 100*time.Millisecond)
	return counts
}

// Servers of all kinds are stopped while callers write: each run that was acknowledged is there, and
// each once.
func TestFailOversLoseNoAcknowledgedRunAndDoubleNone(t *testing.T) {
	d := deploy(t, false)
	w := write(d, "run", 4)
	w.goOn(t, time.Minute, "the start")
	promotions, kills := soak.Rounds(2, 30), soak.Rounds(2, 100)
	var still []time.Duration
	for i := range promotions {
		from, before := d.leader(), d.timeline()
		if i%2 == 0 {
			d.crash(from)
		} else {
			d.switchover()
		}
		require.Eventually(t, func() bool { return d.timeline() > before }, time.Minute, 10*time.Millisecond, "nobody is promoted: %s", d.log(fmt.Sprintf("pg%d", from+1)))
		took := w.goOn(t, 30*time.Second, "a promotion")
		t.Logf("promotion %d: work went on after %s", i, took)
		still = append(still, took)
		for range kills / promotions {
			n := (i + len(still)) % len(d.apps)
			d.apps[n].kill()
			w.goOn(t, 30*time.Second, "the end of an app")
			d.startApp(n)
			d.waitForApp(n)
		}
		require.Eventually(t, d.streaming, 2*time.Minute, 100*time.Millisecond, "the servers do not follow again")
	}
	acknowledged := w.stop()
	t.Logf("%d runs acknowledged over %d promotions and %d ends of apps; %d sent again; work stood still for %s at most", len(acknowledged), promotions, kills, w.again.Load(), slices.Max(still))
	counts := d.stored()
	for title := range acknowledged {
		require.Equal(t, 1, counts[title], title)
	}
	for title, n := range counts {
		require.Equal(t, 1, n, title)
	}
	d.checkReplicasAndFiles(t)
}

// checkReplicasAndFiles reads from replicas through the balancers, and has one app serve a file that another one took.
func (d *deployment) checkReplicasAndFiles(t *testing.T) {
	s := &server{t, d.url()}
	seen := s.do(http.MethodPost, "/api/todo", `{"title":"seen"}`, "").position
	for range 20 {
		got := s.do(http.MethodPost, "/api/todo:count", `{"filter":{"title":"seen"}}`, seen)
		require.EqualValues(t, 1, got.body["count"])
		seen = got.position
	}
	app := func(i int) string { return fmt.Sprintf("http://127.0.0.1:%d", d.port(machine(i)+":8081")) }
	resp, err := http.Post(app(0)+"/api/files?name=a.txt", "text/plain", strings.NewReader("of the first"))
	require.NoError(t, err)
	raw, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, http.StatusCreated, resp.StatusCode, "%s", raw)
	resp, err = http.Get(app(1) + resp.Header.Get("Location"))
	require.NoError(t, err)
	raw, err = io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	assert.Equal(t, "of the first", string(raw))
}

// With asynchronous replication a fail-over loses what no other server has received, as the page says, and nothing
// else: what was acknowledged before is there, each run once.
func TestAsynchronousReplicationLosesTheLastRunsAlone(t *testing.T) {
	soak.Proof(t)
	d := deploy(t, true)
	leader, before := d.leader(), d.timeline()
	w := write(d, "early", 4)
	w.goOn(t, time.Minute, "the start")
	kept := w.stop()
	for i := range d.nodes {
		if i != leader {
			require.Eventually(t, func() bool {
				return pgtest.Value(t, d.superuser(i, "postgres"), "SELECT pg_last_wal_replay_lsn()::text") == pgtest.Value(t, d.superuser(leader, "postgres"), "SELECT pg_current_wal_insert_lsn()::text")
			}, time.Minute, 50*time.Millisecond)
		}
	}
	resume := d.stopReceiving(leader)
	w = write(d, "late", 4)
	w.goOn(t, time.Minute, "the others receive nothing")
	d.nodes[leader].kill()
	resume()
	require.Eventually(t, func() bool { return d.timeline() > before }, 2*time.Minute, 50*time.Millisecond)
	w.goOn(t, time.Minute, "the promotion")
	late := w.stop()
	counts, lost := d.stored(), 0
	for title := range kept {
		require.Equal(t, 1, counts[title], title)
	}
	for title := range late {
		if counts[title] == 0 {
			lost++
		}
	}
	for title, n := range counts {
		require.Equal(t, 1, n, title)
	}
	t.Logf("%d of %d acknowledged runs are lost", lost, len(late))
	assert.Positive(t, lost)
}

// stopReceiving keeps all machines but the leader from receiving anything until resume, when they lose what
// has been sent to them.
func (d *deployment) stopReceiving(leader int) (resume func()) {
	d.t.Helper()
	var receivers []int
	for i := range d.nodes {
		if i == leader {
			continue
		}
		pid, err := strconv.Atoi(pgtest.Value(d.t, d.superuser(i, "postgres"), "SELECT pid::text FROM pg_stat_wal_receiver"))
		require.NoError(d.t, err)
		require.NoError(d.t, syscall.Kill(pid, syscall.SIGSTOP))
		receivers = append(receivers, pid)
	}
	return func() {
		for _, pid := range receivers {
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}

package cluster

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/soak"
)

// counter is a row whose number only grows.
func counter(s *server) (id, position string) {
	made := s.do(http.MethodPost, "/api/todo", `{"title":"counter"}`, "")
	return made.body["id"].(string), made.position
}

// increment counts one more.
func increment(s *server, id string) (views float64, position string, err error) {
	got, err := s.send(http.MethodPost, "/tools/koan.code.execute",
		fmt.Sprintf(`{"code":"const t = SDK.Entities.Todo.getById(SDK.args.id); return SDK.Entities.Todo.patch(t.id, { views: t.views + 1 }).views","args":{"id":%q}}`, id), "")
	if err != nil {
		return 0, "", err
	}
	data, _ := got.body["result"].(map[string]any)
	views, ok := data["result"].(float64)
	if got.status != http.StatusOK || !ok {
		return 0, "", fmt.Errorf("status %d: %v", got.status, got.body)
	}
	return views, got.position, nil
}

// Callers read from two apps, over a database whose two replicas are now and then behind, what others
// write meanwhile. Nobody ever sees a lower number than it has seen before, and replicas do answer.
func TestNoAnswerIsOlderThanWhatItsCallerHasSeen(t *testing.T) {
	reads := soak.Rounds(3000, 100_000)
	c := pgtest.NewCluster(t, 2)
	servers := []*server{serve(t, c.URL(0)+"&schema_prefix=order", c.URL(1), c.URL(2)), serve(t, c.URL(0)+"&schema_prefix=order", c.URL(2), c.URL(1))}
	id, first := counter(servers[0])

	over := make(chan struct{})
	var others sync.WaitGroup
	others.Go(func() { // who writes
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			case <-time.After(2 * time.Millisecond):
			}
			if _, _, err := increment(servers[i%2], id); !assert.NoError(t, err) {
				return
			}
		}
	})
	others.Go(func() { // who has replicas come late
		for i := 0; ; i++ {
			c.Pause(t, 1+i%2)
			time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			c.Resume(t, 1+i%2)
			select {
			case <-over:
				return
			case <-time.After(time.Duration(rand.IntN(30)) * time.Millisecond):
			}
		}
	})
	before := [2]string{scans(t, c, 1), scans(t, c, 2)}
	var left atomic.Int64
	left.Store(int64(reads))
	var readers sync.WaitGroup
	for n := range 4 {
		readers.Go(func() {
			seen, views := first, 0.0
			for i := n; left.Add(-1) >= 0; i++ {
				got, err := servers[i%2].send(http.MethodGet, "/api/todo/"+id, "", seen)
				if !assert.NoError(t, err) || !assert.Equal(t, http.StatusOK, got.status, "%v", got.body) || !assert.NotEmpty(t, got.position) {
					return
				}
				now := got.body["views"].(float64)
				if !assert.GreaterOrEqual(t, now, views, "after %s came %s", seen, got.position) {
					return
				}
				seen, views = got.position, now
			}
		})
	}
	readers.Wait()
	close(over)
	others.Wait()
	for i := range before {
		assert.NotEqual(t, before[i], scans(t, c, i+1), "replica %d was not asked", i+1)
	}
}

// scans is how many rows of tables a server has read.
func scans(t testing.TB, c *pgtest.Cluster, i int) string {
	t.Helper()
	return pgtest.Value(t, c.URL(i), "SELECT (sum(tup_returned) + sum(tup_fetched))::text FROM pg_stat_database")
}

// After a promotion, the replica that has not followed it has old data at places in the log that are as high as the
// new ones. Whoever has seen something of the new timeline is not answered by it.
func TestAReplicaOfTheOldTimelineAnswersNobodyWhoHasSeenTheNewOne(t *testing.T) {
	c := pgtest.NewCluster(t, 2)
	s := serve(t, c.AnyURL(), c.URL(1), c.URL(2))
	id, _ := counter(s)
	for range 20 {
		_, _, err := increment(s, id)
		require.NoError(t, err)
	}
	before := s.do(http.MethodGet, "/api/todo/"+id, "", "")
	require.EqualValues(t, 20, before.body["views"])
	caughtUp(t, c, 0, 1)
	c.Detach(t, 1) // 1 stays behind, and 2 gets further than it on the old timeline
	pgtest.Psql(t, c.URL(0), "SELECT pg_switch_wal()", "CREATE TABLE filler AS SELECT generate_series(1, 100000)")
	caughtUp(t, c, 0, 2)
	c.Kill(t, 0)
	c.Promote(t, 1)

	// The first write finds out, and is made at the new server.
	var views float64
	var seen string
	require.Eventually(t, func() (ok bool) {
		var err error
		views, seen, err = increment(s, id)
		return err == nil
	}, 30*time.Second, 50*time.Millisecond)
	require.EqualValues(t, 21, views)
	require.Contains(t, seen, ".2.", "a new timeline")
	for range 20 {
		got := s.do(http.MethodGet, "/api/todo/"+id, "", seen)
		require.GreaterOrEqual(t, got.body["views"].(float64), 21.0)
		require.Contains(t, got.position, ".2.")
	}
	// Who has seen the old timeline only may be answered by either.
	got := s.do(http.MethodGet, "/api/todo/"+id, "", before.position)
	assert.GreaterOrEqual(t, got.body["views"].(float64), 20.0)
}

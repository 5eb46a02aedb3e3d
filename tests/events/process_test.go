package events

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// What one server commits, another one on the same data sends soon after; nothing is lost or
// comes twice however many write at once, for who stays and for who comes back again and again.
func TestServersOfOneDatabase(t *testing.T) {
	if pgtest.ForEach(t, TestServersOfOneDatabase) {
		return
	}
	t.Parallel()
	at := place(t)
	one, two := process(t, "fixture", at), process(t, "fixture", at)
	stays := two.follow(nil)
	var took []time.Duration
	for i := range 10 {
		one.do(http.StatusCreated, "POST", "/api/todo", fmt.Sprintf(`{"id":"first%d","title":"x"}`, i))
		committed := time.Now()
		e := stays.next()
		require.Equal(t, fmt.Sprintf("create Todo default/first%d", i), e.brief())
		took = append(took, max(e.at.Sub(committed), 0))
	}
	slices.Sort(took)
	t.Logf("another process sees a commit after %s in the median, %s at most", took[len(took)/2].Round(time.Millisecond), took[len(took)-1].Round(time.Millisecond))
	require.Less(t, took[len(took)-1], 2*time.Second)

	// A set that comes into being meanwhile is there too.
	one.do(http.StatusCreated, "POST", "/api/todo?set=archive", `{"id":"new","title":"x"}`)
	require.Equal(t, "create Todo archive/new", stays.next().brief())

	const writers, each = 4, 15
	var running sync.WaitGroup
	var mu sync.Mutex
	var want []string
	comes := two.follow(nil)
	for w := range writers {
		running.Go(func() {
			for i := range each {
				s := []*server{one, two}[(w+i)%2]
				ids := []string{fmt.Sprintf("w%d-%d-a", w, i), fmt.Sprintf("w%d-%d-b", w, i)}
				got, err := s.try("POST", "/tools/koan.code.execute", fmt.Sprintf(`{"code":"for (const id of ['%s','%s']) SDK.Entities.Todo.upsert({id, title: id})"}`, ids[0], ids[1]))
				if err == nil && got.status == http.StatusOK {
					mu.Lock()
					want = append(want, ids...)
					mu.Unlock()
				}
			}
		})
	}
	done := make(chan struct{})
	go func() { running.Wait(); close(done) }()
	var came []string
	id := comes.lastID()
	reconnects := 0
	take := func(f *follower, most int, wait time.Duration) {
		timeout := time.After(wait)
		for range most {
			select {
			case e := <-f.events:
				came, id = append(came, e.data["id"].(string)), e.id
			case <-timeout:
				return
			}
		}
	}
	for ended := false; !ended; {
		take(comes, 5, 200*time.Millisecond)
		comes.stop()
		comes = []*server{one, two}[reconnects%2].follow(nil, "Last-Event-ID", id)
		reconnects++
		select {
		case <-done:
			ended = true
		default:
		}
	}
	for len(came) < len(want) {
		before := len(came)
		take(comes, len(want)-before, 5*time.Second)
		require.Greater(t, len(came), before, "%d of %d came", before, len(want))
	}
	var stayed []string
	for range want {
		stayed = append(stayed, stays.next().data["id"].(string))
	}
	t.Logf("%d changes came over %d connections", len(came), reconnects+1)
	require.Equal(t, stayed, came, "in one order")
	slices.Sort(want)
	slices.Sort(came)
	require.Equal(t, want, came)

	// A server that starts again goes on where the other one was.
	comes.stop()
	require.NoError(t, two.cmd.Process.Signal(os.Interrupt))
	last := stays.ended()
	require.Equal(t, "service_unavailable", last[len(last)-1].code())
	_ = two.cmd.Wait()
	one.do(http.StatusCreated, "POST", "/api/todo", `{"id":"meanwhile","title":"x"}`)
	again := process(t, "fixture", at)
	require.Equal(t, []string{"create Todo default/meanwhile"}, again.follow(nil, "Last-Event-ID", last[len(last)-1].id).briefs(1))
}

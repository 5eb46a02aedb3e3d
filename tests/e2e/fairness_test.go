package e2e

import (
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// A server with many clients, each of which keeps a set locked for a while and comes
// again at once, does not keep another server's client from its turn.
func TestServersShareWriteLockFairly(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestServersShareWriteLockFairly) {
		return
	}
	a, _ := napApp(t)
	busy, other := a.serve(), a.serve()
	const slow = `SDK.Entities.Todo.upsert({ title: "slow" }); for (let i = 0; i < 1e6; i++);`
	require.True(t, other.execute(`1`).Success)
	var stop atomic.Bool
	var crowd sync.WaitGroup
	for range 4 {
		crowd.Go(func() {
			for !stop.Load() {
				if e := busy.execute(slow); !e.Success {
					t.Errorf("%+v", e.Error)
					return
				}
			}
		})
	}
	time.Sleep(500 * time.Millisecond)
	longest := time.Duration(0)
	for n := range 6 {
		code := `SDK.Entities.Todo.upsert({ title: "quick" })`
		if n%2 == 1 { // what was read may be stale by then
			code = `SDK.Entities.Todo.count(); ` + code
		}
		begun := time.Now()
		e := other.execute(code)
		longest = max(longest, time.Since(begun))
		require.True(t, e.Success, "%+v", e.Error)
	}
	stop.Store(true)
	crowd.Wait()
	t.Logf("the longest wait was %s", longest)
	require.Less(t, longest, 5*time.Second, "and nobody failed")
}

// A script that stores the result of each of many slow calls starts again at each of them,
// and gets further each time: that is no conflict, and no call is made twice.
func TestSlowCallsAfterWrite(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestSlowCallsAfterWrite) {
		return
	}
	a, _ := napApp(t)
	p := a.serve()
	e := p.execute(`
import { take } from "@codemode/servers/nap";
for (let n = 0; n < 7; n++) {
  SDK.Entities.Todo.upsert({ title: "nap " + n });
  await take({ ms: 300 });
}
SDK.Out.answer(SDK.Entities.Todo.count({ title: { $startsWith: "nap" } }));`, input{"include": []string{"calls"}})
	require.True(t, e.Success, "%+v", e.Error)
	require.EqualValues(t, 7, e.Answer)
	require.EqualValues(t, 7, p.execute(`SDK.Entities.Todo.count({ title: { $startsWith: "nap" } })`).Result)
}

package e2e

import (
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestMixedLoad is the short form of TestSoakMixedLoad.
func TestMixedLoad(t *testing.T) {
	t.Parallel()
	t.Run("SQLite", func(t *testing.T) { mixedLoad(t, newApp(t), time.Second) })
	t.Run("PostgreSQL", func(t *testing.T) { mixedLoad(t, onPostgres(t), time.Second) })
}

// mixedLoad has 8 writers and 8 readers work in one set for a while. Writers move
// units from one row to another, in scripts that read before they write, and store
// rows of their own; readers add up. Nobody fails, no reader sees a unit twice or
// not at all, and in the end every move is there.
func mixedLoad(t *testing.T, a *app, long time.Duration) {
	t.Helper()
	const rows, units = 4, 1000
	p := a.serve("--exposure", "full")
	e := p.execute(`SDK.Entities.Todo.upsertMany(Array.from({ length: SDK.args.rows }, (_, i) => ({ id: "store-" + i, title: "store", views: SDK.args.units })))`,
		input{"args": input{"rows": rows, "units": units}})
	require.True(t, e.Success, "%+v", e.Error)
	const move = `
const [from, to] = SDK.args.between.map((id) => SDK.Entities.Todo.getById(id));
SDK.Entities.Todo.patch(from.id, { views: from.views - 1 });
SDK.Entities.Todo.patch(to.id, { views: to.views + 1, notes: to.notes });
SDK.Entities.Todo.upsert({ title: "moved", notes: SDK.args.n })`
	const sum = `SDK.Entities.Todo.collection({ filter: { title: "store" } }).items.reduce((n, t) => n + t.views, 0)`
	end := time.Now().Add(long)
	var moves, sums atomic.Int64
	var workers sync.WaitGroup
	work := func(each func(n int) bool) {
		workers.Go(func() {
			for n := 0; time.Now().Before(end) && each(n); n++ {
			}
		})
	}
	answer := func(code string, args input) (execution, bool) {
		_, c := p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": code, "args": args}})
		m := <-c
		var r toolResult
		var e execution
		if m.Error != nil || json.Unmarshal(m.Result, &r) != nil || json.Unmarshal(r.Structured, &e) != nil || !e.Success {
			t.Errorf("%s: %+v %s", code, m.Error, m.Result)
			return e, false
		}
		return e, true
	}
	for who := range 8 {
		work(func(n int) bool {
			from, to := (who+n)%rows, (who+n+1+n%(rows-1))%rows
			_, ok := answer(move, input{"n": fmt.Sprint(who, ".", n), "between": []string{fmt.Sprint("store-", from), fmt.Sprint("store-", to)}})
			moves.Add(1)
			return ok
		})
		work(func(int) bool {
			e, ok := answer(sum, input{})
			sums.Add(1)
			if ok && e.Result != float64(rows*units) {
				t.Errorf("a reader saw %v units", e.Result)
				return false
			}
			return ok
		})
	}
	workers.Wait()
	t.Logf("%d moves and %d sums in %s", moves.Load(), sums.Load(), long)
	e = p.execute(`({ rows: SDK.Entities.Todo.count({ title: "moved" }), versions: SDK.Entities.Todo.collection({ filter: { title: "store" } }).items.reduce((n, t) => n + t.version - 1, 0) })`)
	require.True(t, e.Success, "%+v", e.Error)
	require.Equal(t, map[string]any{"rows": float64(moves.Load()), "versions": float64(2 * moves.Load())}, e.Result, "no update is lost")
}

package e2e

import (
	"database/sql"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	_ "github.com/mattn/go-sqlite3" // reads the file as it lies there, without the app
	"github.com/stretchr/testify/require"
)

// TestKilledInTheMiddle kills the server while scripts write.
func TestKilledInTheMiddle(t *testing.T) { killInTheMiddle(t, 6) }

// killInTheMiddle kills a server at random moments while clients run scripts that
// each write two rows, and checks that every pair is whole, that each committed
// run left its receipt, and that the file is sound.
func killInTheMiddle(t *testing.T, times int) {
	t.Helper()
	a := newApp(t)
	const pair = `
const n = SDK.args.n;
SDK.Entities.Todo.upsert({ title: "first", notes: n });
SDK.Entities.Todo.collection({ pageSize: 5 });
SDK.Entities.Todo.upsert({ title: "second", notes: n });`
	answered := 0
	for round := range times {
		p := a.serve()
		var answers []chan message
		for n := range 12 {
			_, c := p.post("tools/call", input{"name": "koan.code.execute", "arguments": input{"code": pair, "args": input{"n": fmt.Sprint(round, ".", n)}}})
			answers = append(answers, c)
		}
		time.Sleep(time.Duration(10+rand.IntN(60)) * time.Millisecond)
		require.NoError(t, p.cmd.Process.Kill())
		<-p.done
		for _, c := range answers {
			select {
			case <-c:
				answered++
			default:
			}
		}
	}
	p := a.serve()
	e := p.execute(`
const pairs = {};
for (const t of SDK.Entities.Todo.each({ filter: { notes: { $ne: null } } })) (pairs[t.notes] ??= []).push(t.title);
({ pairs: Object.keys(pairs).length, broken: Object.values(pairs).filter((p) => p.length !== 2) })`)
	require.True(t, e.Success, "%+v", e.Error)
	r := e.Result.(map[string]any)
	require.Positive(t, r["pairs"], "some runs came through")
	require.Empty(t, r["broken"], "a run is in the data as a whole or not at all")
	require.GreaterOrEqual(t, r["pairs"], float64(answered), "what was answered is in the data")
	p.close()

	db, err := sql.Open("sqlite3", "file:"+filepath.Join(a.data, "default.db")+"?mode=ro")
	require.NoError(t, err)
	defer db.Close()
	var verdict string
	require.NoError(t, db.QueryRow("PRAGMA integrity_check").Scan(&verdict))
	require.Equal(t, "ok", verdict)
	var receipts int
	require.NoError(t, db.QueryRow("SELECT COUNT(*) FROM koan_receipts").Scan(&receipts))
	require.EqualValues(t, r["pairs"], receipts, "a receipt for each committed run, and no other")
}

package e2e

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib"
	_ "github.com/mattn/go-sqlite3" // reads the data as it lies there, without the app
	"github.com/stretchr/testify/require"
)

// receipt is what the data says of a commit.
type receipt struct {
	Run      string
	Sequence int
	Deed     string   `json:"deed"`
	Rows     int      `json:"rows"`
	From     string   `json:"from"`
	To       string   `json:"to"`
	Label    string   `json:"label"`
	Tree     string   `json:"tree"`
	Felled   []string `json:"felled"`
}

// openSet opens the set "default" of a place past the app.
func openSet(t *testing.T, place string) *sql.DB {
	t.Helper()
	driver, dsn := "sqlite3", ""
	if folder, ok := strings.CutPrefix(place, "sqlite://"); ok {
		dsn = "file:" + filepath.Join(folder, "default.db") + "?mode=ro&_busy_timeout=5000"
	} else {
		server, prefix, _ := strings.Cut(place, "&schema_prefix=")
		prefix, _, _ = strings.Cut(prefix, "&")
		driver, dsn = "pgx", server+"&search_path=%22"+prefix+".default%22"
	}
	db, err := sql.Open(driver, dsn)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, db.Close()) })
	return db
}

func asked[T any](t *testing.T, db *sql.DB, query string, scan func(rows *sql.Rows, into *T) error) (out []T) {
	t.Helper()
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer rows.Close()
	for rows.Next() {
		var v T
		require.NoError(t, scan(rows, &v))
		out = append(out, v)
	}
	require.NoError(t, rows.Err())
	return out
}

func pairs(t *testing.T, db *sql.DB, query string) map[string]int {
	t.Helper()
	out := map[string]int{}
	type pair struct {
		name  string
		count int
	}
	for _, p := range asked(t, db, query, func(r *sql.Rows, p *pair) error { return r.Scan(&p.name, &p.count) }) {
		out[p.name] = p.count
	}
	return out
}

func receipts(t *testing.T, db *sql.DB) []receipt {
	t.Helper()
	return asked(t, db, "SELECT run, sequence, result FROM koan_receipts WHERE code_digest <> ''", func(rows *sql.Rows, r *receipt) error {
		var result sql.NullString
		err := rows.Scan(&r.Run, &r.Sequence, &result)
		if err == nil && strings.HasPrefix(result.String, `{"deed"`) {
			err = json.Unmarshal([]byte(result.String), r)
		}
		return err
	})
}

// held adds up the receipts and compares the sum with the data, and with what
// clients were told.
func held(t *testing.T, a *app, place string, told *report) {
	t.Helper()
	db := openSet(t, place)
	rows, labels, trees := map[string]int{}, map[string]int{}, map[string]int{}
	views, versions := map[string]int{}, map[string]int{}
	for n := range stores {
		views[fmt.Sprint("store-", n)], versions[fmt.Sprint("store-", n)] = units, 1
	}
	has, felled := map[string]receipt{}, []string{}
	for _, r := range receipts(t, db) {
		has[r.Run] = r
		switch {
		case r.Sequence > 0: // a call that committed by itself
			rows[r.Run]++
			continue
		case r.Rows > 0:
			rows[r.Run] += r.Rows
		}
		switch r.Deed {
		case "move":
			views[r.From]--
			views[r.To]++
			versions[r.From]++
			versions[r.To]++
		case "many":
			labels[r.Label] = 2
		case "tree":
			trees[r.Tree] = 2
			felled = append(felled, r.Felled...)
		}
	}
	for _, id := range felled {
		require.Contains(t, trees, id, "what a run deleted was there")
		delete(trees, id)
	}
	require.Equal(t, rows, pairs(t, db, "SELECT notes, count(*) FROM todos WHERE title = 'deed' GROUP BY notes"), "what runs stored")
	require.Equal(t, labels, pairs(t, db, "SELECT l.name, count(*) FROM labels l JOIN todo_labels j ON j.label_id = l.id GROUP BY l.name"))
	require.Equal(t, trees, pairs(t, db, "SELECT t.id, count(*) FROM todos t JOIN steps s ON s.todo_steps = t.id WHERE t.title = 'tree' GROUP BY t.id"))
	require.Equal(t, views, pairs(t, db, "SELECT id, views FROM todos WHERE title = 'store'"), "no move is lost, and none is half there")
	require.Equal(t, versions, pairs(t, db, "SELECT id, version FROM todos WHERE title = 'store'"))
	require.Empty(t, pairs(t, db, "SELECT id, 1 FROM todos WHERE title = 'never'"), "what throws, or is tried only, leaves nothing")

	for run, deed := range told.committed {
		require.Contains(t, has, run, "a %s that was said to be committed", deed)
	}
	for run := range told.not {
		require.NotContains(t, has, run, "a run that said it changed nothing")
	}
	require.NotEmpty(t, told.committed)
	t.Logf("%d runs have receipts; %d were told of their commit, %d that nothing is changed, %d nothing", len(has), len(told.committed), len(told.not), told.silent)
	if strings.HasPrefix(place, "sqlite://") {
		require.Equal(t, map[string]int{"ok": 1}, pairs(t, db, "SELECT integrity_check, 1 FROM pragma_integrity_check"))
		require.Empty(t, asked(t, db, "PRAGMA foreign_key_check", func(r *sql.Rows, s *string) error { var x any; return r.Scan(s, &x, &x, &x) }))
	}
	p := a.serve("--journal.expose", "true")
	chronicled(t, p, has)
	e := p.execute(`SDK.Entities.Todo.upsert({ id: "store-0", notes: "still here" }).views`)
	require.True(t, e.Success, "%+v", e.Error)
	require.EqualValues(t, views["store-0"], e.Result)
}

// chronicled compares the journal, once it is repaired, with the receipts.
func chronicled(t *testing.T, p *peer, has map[string]receipt) {
	t.Helper()
	type kept struct {
		ID        string
		Committed bool
		Repaired  bool
		Created   int
		Outcome   string
	}
	read := func() (committed map[string]kept, cutOff int) {
		committed = map[string]kept{}
		for after := ""; ; {
			e := p.execute(`SDK.Entities.KoanRun.collection({ filter: { id: { $gt: SDK.args }, codeDigest: { $null: false } }, sort: "id", pageSize: 200, count: false,
  fields: ["id", "committed", "repaired", "created", "outcome"] }).items`, input{"args": after})
			require.True(t, e.Success, "%+v", e.Error)
			raw, err := json.Marshal(e.Result)
			require.NoError(t, err)
			var page []kept
			require.NoError(t, json.Unmarshal(raw, &page))
			for _, k := range page {
				after = k.ID
				if k.Committed {
					committed[k.ID] = k
				}
				if k.Outcome == "cut_off" {
					cutOff++
				}
			}
			if len(page) < 200 {
				return committed, cutOff
			}
		}
	}
	var committed map[string]kept
	cutOff := 0
	require.Eventually(t, func() bool {
		committed, cutOff = read()
		return len(committed) >= len(has)
	}, 20*time.Second, 500*time.Millisecond, "what is missing is made from receipts")
	repaired := 0
	for id, k := range committed {
		r, ok := has[id]
		require.True(t, ok, "the journal has a commit that has no receipt: %+v", k)
		if k.Repaired {
			repaired++
			continue
		}
		want := map[string]int{"move": 1, "many": 21, "tree": 3}[r.Deed]
		if r.Sequence > 0 {
			want = 3
		}
		if want > 0 && k.Outcome == "ok" {
			require.Equal(t, want, k.Created, "%+v", r)
		}
	}
	t.Logf("the journal has %d commits, %d of them repaired, and %d runs that were cut off", len(committed), repaired, cutOff)
}

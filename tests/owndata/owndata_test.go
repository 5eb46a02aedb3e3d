// Package owndata tests apps that open their databases themselves: what holds for runs elsewhere
// holds there, with the ledger beside the data.
package owndata

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	_ "github.com/koan-go/koan/codemode/languages"
	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/approve"
	"github.com/koan-go/koan/tests/fixture/ent"
	"github.com/koan-go/koan/tests/pgtest"
)

// owner is somebody's database: the driver of database/sql and its source.
type owner struct {
	driver, source string
	foreign        bool // it gets no table of the system
}

// newOwner makes a database with the tables that ent makes.
func newOwner(t *testing.T) owner {
	t.Helper()
	o := owner{driver: "sqlite3", source: "file:" + filepath.Join(t.TempDir(), "shop.db") + "?_fk=1&_journal_mode=WAL&_busy_timeout=5000"}
	if pgtest.Here(t) {
		server, prefix, _ := strings.Cut(pgtest.Place(t), "&schema_prefix=")
		pgtest.Psql(t, server, "CREATE SCHEMA "+prefix)
		o = owner{driver: "pgx", source: server + "&search_path=" + prefix}
	}
	o.foreign = strings.Contains(t.Name()+"/", "/"+onForeign+"/")
	drv := o.open(t)
	require.NoError(t, ent.NewClient(ent.Driver(drv)).Schema.Create(t.Context()))
	if o.foreign {
		o.staysAsItIs(t)
	}
	return o
}

func (o owner) dialect() string {
	if o.driver == "pgx" {
		return dialect.Postgres
	}
	return dialect.SQLite
}

func (o owner) open(t testing.TB) *entsql.Driver {
	t.Helper()
	drv, err := entsql.Open(o.driver, o.source)
	if o.driver == "pgx" {
		var db *sql.DB
		db, err = sql.Open(o.driver, o.source)
		drv = entsql.OpenDB(dialect.Postgres, db)
	}
	require.NoError(t, err)
	t.Cleanup(func() { _ = drv.Close() })
	return drv
}

// app is an app over the database.
func (o owner) app() framework.App {
	served := ent.Entities()
	if o.foreign {
		served.Foreign = o.source
	}
	return framework.App{
		Name: "shop", Entities: served,
		Open: func(_ context.Context, set string) (dialect.Driver, error) {
			if set != "default" {
				return nil, fault.Newf(fault.UnknownSet, "we have no %q", set)
			}
			db, err := sql.Open(o.driver, o.source)
			return entsql.OpenDB(o.dialect(), db), err
		},
	}
}

// count counts rows as their owner does.
func (o owner) count(t testing.TB, table string) (n int) {
	t.Helper()
	require.NoError(t, o.open(t).DB().QueryRow("SELECT COUNT(*) FROM "+table).Scan(&n))
	return n
}

// ledger is a place for it.
func ledger(t testing.TB) string { return "sqlite://" + t.TempDir() }

func (o owner) serve(t *testing.T, ledger string, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	return koantest.New(t, o.app(), append(o.settings(ledger), settings...)...)
}

func (o owner) settings(ledger string) []koantest.Setting {
	return []koantest.Setting{{Key: "ledger.database", Value: ledger}, {Key: "journal.enabled", Value: "true"}, {Key: "replay.keep", Value: "all"}}
}

func execute(t *testing.T, k *koantest.Kit, input map[string]any) (out struct {
	Success    bool
	RunID      string
	Result     any
	Idempotent bool
}, err error,
) {
	t.Helper()
	raw, err := k.Call("code::koan.execute", input)
	if raw != nil {
		require.NoError(t, json.Unmarshal(raw, &out))
	}
	return out, err
}

// both runs a test over a SQLite file and over PostgreSQL. They are not parallel: ent's Create
// writes to tables that all tests share.
func both(t *testing.T, test func(*testing.T)) {
	t.Run("SQLite", test)
	t.Run("PostgreSQL", test)
}

func TestRunsAreUndone(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		o, at := newOwner(t), ledger(t)
		k := o.serve(t, at)
		k.Run(`SDK.Entities.Todo.upsert({id: "a", title: "first"})`, koantest.Input{})
		r := k.Run(`SDK.Entities.Todo.patch("a", {title: "second"}); SDK.Entities.Todo.upsert({id: "b", title: "new"}); 1`, koantest.Input{})

		later := o.serve(t, at) // the journal outlives the process
		_, err := later.Call("code::koan.undo", map[string]any{"runId": r.RunID})
		require.NoError(t, err)
		require.Equal(t, 1, o.count(t, "todos"))
		require.JSONEq(t, `"first"`, string(later.Run(`SDK.Entities.Todo.getById("a").title`, koantest.Input{}).Result))

		_, err = later.Call("code::koan.undo", map[string]any{"runId": "01900000-0000-7000-8000-000000000000"})
		require.Equal(t, fault.NotFound, fault.CodeOf(err))
	})
}

func TestKeysHold(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		o, at := newOwner(t), ledger(t)
		input := map[string]any{"code": `SDK.Entities.Todo.upsert({title: "once"}).id`, "idempotencyKey": "k"}
		first, err := execute(t, o.serve(t, at), input)
		require.NoError(t, err)
		again, err := execute(t, o.serve(t, at), input)
		require.NoError(t, err)
		require.Equal(t, first.Result, again.Result)
		require.Equal(t, first.RunID, again.RunID)
		require.Equal(t, 1, o.count(t, "todos"))

		input["code"] = `2`
		_, err = execute(t, o.serve(t, at), input)
		require.Equal(t, fault.Conflict, fault.CodeOf(err))
	})
}

func TestPlansAreApproved(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		o := newOwner(t)
		k := o.serve(t, ledger(t), koantest.Setting{Key: "approval.mode", Value: "destructive"})
		k = k.As(auth.Principal{Subject: "agent", Scopes: []string{auth.All}, Sets: []string{auth.All}})
		k.Run(`SDK.Entities.Todo.upsert({id: "a", title: "first"})`, koantest.Input{})
		r := k.Try(`SDK.Entities.Todo.delete("a")`, koantest.Input{})
		require.Equal(t, fault.ApprovalRequired, r.Error.Code)
		require.Equal(t, 1, o.count(t, "todos"))
		id := r.Error.Details.(map[string]any)["planId"]

		boss := k.As(auth.Principal{Subject: "boss", Scopes: []string{auth.All, approve.Scope}, Sets: []string{auth.All}})
		out, err := execute(t, boss, map[string]any{"planId": id})
		require.NoError(t, err)
		require.True(t, out.Success)
		require.Zero(t, o.count(t, "todos"))
	})
}

func TestRunsAreListedAndReplayed(t *testing.T) {
	everywhere(t, func(t *testing.T) {
		o := newOwner(t)
		k := o.serve(t, ledger(t))
		r := k.Run(`SDK.Entities.Todo.upsert({id: "a", title: "t"}); Math.random()`, koantest.Input{})
		page, err := k.Instance().Runs(auth.With(t.Context(), auth.Local()), journal.Query{Most: 10})
		require.NoError(t, err)
		require.Len(t, page.Runs, 1)
		require.Contains(t, string(page.Runs[0]), r.RunID)

		again, err := k.Instance().Replay(t.Context(), r.RunID, false)
		require.NoError(t, err)
		require.True(t, again.Identical, "%+v", again)
		require.Equal(t, 1, o.count(t, "todos"))
	})
}

// Commits are followed where the app's own database keeps their changes.
func TestCommitsAreFollowed(t *testing.T) {
	both(t, func(t *testing.T) {
		o := newOwner(t)
		follow := func(k *koantest.Kit) *http.Response {
			h, err := k.Instance().HTTPHandler(framework.HTTPOptions{})
			require.NoError(t, err)
			s := httptest.NewServer(h)
			t.Cleanup(func() { h.Shutdown(context.Background()); s.Close() })
			r, err := http.Get(s.URL + "/api/events")
			require.NoError(t, err)
			t.Cleanup(func() { _ = r.Body.Close() })
			return r
		}
		r := follow(o.serve(t, ledger(t)))
		require.Equal(t, http.StatusNotImplemented, r.StatusCode)

		k := o.serve(t, ledger(t), koantest.Setting{Key: "ledger.inData", Value: "true"})
		r = follow(k)
		require.Equal(t, http.StatusOK, r.StatusCode)
		k.Run(`SDK.Entities.Todo.upsert({id: "a", title: "seen"})`, koantest.Input{})
		lines := bufio.NewScanner(r.Body)
		for lines.Scan() {
			if strings.Contains(lines.Text(), `"seen"`) {
				return
			}
		}
		t.Fatal("the stream ended: ", lines.Err())
	})
}

// What is too old is removed from the log of changes, and a process that was not told to keep changes
// keeps them where another does.
func TestChangesAreBoundedAndWhole(t *testing.T) {
	both(t, func(t *testing.T) {
		o, at := newOwner(t), ledger(t)
		k := o.serve(t, at, koantest.Setting{Key: "ledger.inData", Value: "true"})
		k.Run(`for (let i = 0; i < 3; i++) SDK.Entities.Todo.upsert({title: "t" + i})`, koantest.Input{})
		k.Run(`SDK.Entities.Todo.upsert({title: "later"})`, koantest.Input{})
		require.NoError(t, k.Instance().Stop(t.Context()))
		_, err := o.open(t).DB().Exec("UPDATE koan_changes SET at = at - 8 * 86400000")
		require.NoError(t, err)

		other := o.serve(t, at)
		other.Run(`SDK.Entities.Todo.upsert({title: "new"})`, koantest.Input{})
		require.Eventually(t, func() bool { return o.count(t, "koan_changes WHERE changes IS NOT NULL") == 1 }, 20*time.Second, 20*time.Millisecond)
		require.Equal(t, 3, o.count(t, "koan_receipts"))
	})
}

// killedSource and killedLedger tell the process that is killed where it works.
const (
	killedDriver = "KOAN_OWNDATA_DRIVER"
	killedSource = "KOAN_OWNDATA_SOURCE"
	killedLedger = "KOAN_OWNDATA_LEDGER"
)

// created is the script of the process that is killed, under the key "k" and n.
func created(n int) map[string]any {
	return map[string]any{"code": fmt.Sprintf(`SDK.Entities.Todo.upsert({id: "n%d", title: "t"}).id`, n), "idempotencyKey": fmt.Sprintf("k%d", n)}
}

// TestKilledProcess is the process that is killed; it does nothing where nobody has started it
// for that.
func TestKilledProcess(t *testing.T) {
	if os.Getenv(killedSource) == "" {
		return
	}
	o := owner{driver: os.Getenv(killedDriver), source: os.Getenv(killedSource)}
	k := o.serve(t, os.Getenv(killedLedger))
	for n := 0; ; n++ {
		out, err := execute(t, k, created(n))
		require.NoError(t, err)
		fmt.Println("acknowledged", n, out.RunID)
	}
}

// Whenever a process is killed, each run that it has acknowledged is there, once, and in the journal,
// though that was not written yet; the one that it was at is there once when it is sent again.
func TestRunsOfAKilledProcess(t *testing.T) {
	both(t, func(t *testing.T) {
		o, at := newOwner(t), ledger(t)
		program, err := os.Executable()
		require.NoError(t, err)
		runs := map[int]string{}
		for round := range 3 {
			cmd := exec.Command(program, "-test.run", "^TestKilledProcess$")
			cmd.Env = append(os.Environ(), killedDriver+"="+o.driver, killedSource+"="+o.source, killedLedger+"="+at)
			said, err := cmd.StdoutPipe()
			require.NoError(t, err)
			require.NoError(t, cmd.Start())
			lines := bufio.NewScanner(said)
			for lines.Scan() {
				var n int
				var id string
				if _, err := fmt.Sscanf(lines.Text(), "acknowledged %d %s", &n, &id); err != nil {
					continue
				}
				if before, known := runs[n]; known {
					require.Equal(t, before, id, "the same run")
				}
				if runs[n] = id; n == 10*(round+1) {
					time.AfterFunc(time.Duration(round)*700*time.Microsecond, func() { _ = cmd.Process.Kill() })
				}
			}
			require.Error(t, cmd.Wait(), "it was killed")
		}
		k := o.serve(t, at)
		last := len(runs) // the one that it may have been at
		require.Eventually(t, func() bool {
			_, err := execute(t, k, created(last))
			return fault.CodeOf(err) != fault.InProgress
		}, time.Minute, 50*time.Millisecond)
		for n := range last + 1 {
			out, err := execute(t, k, created(n))
			require.NoError(t, err, "%d", n)
			require.Equal(t, fmt.Sprintf("n%d", n), out.Result)
			runs[n] = out.RunID
		}
		require.Equal(t, last+1, o.count(t, "todos"))
		require.Equal(t, last+1, o.count(t, "koan_receipts"))
		page, err := k.Instance().Runs(auth.With(t.Context(), auth.Local()), journal.Query{Most: 1000})
		require.NoError(t, err)
		recorded := map[string]bool{}
		for _, raw := range page.Runs {
			var r struct {
				ID        string
				Committed bool
			}
			require.NoError(t, json.Unmarshal(raw, &r))
			recorded[r.ID] = r.Committed
		}
		for n, id := range runs {
			require.True(t, recorded[id], "the journal has the run %d (%s) of %d", n, id, last)
		}
	})
}

// The place of the ledger is named where it cannot be used, and what its settings take.
func TestPlaceOfTheLedger(t *testing.T) {
	o := newOwner(t)
	start := func(where string) error {
		i, err := framework.New(t.Context(), o.app(), framework.Options{Config: framework.Source{Flags: map[string]string{"ledger.database": where}}})
		if err == nil {
			require.NoError(t, i.Stop(t.Context()))
		}
		return err
	}
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	err := start("sqlite://" + file)
	require.Equal(t, fault.ServiceUnavailable, fault.CodeOf(err), "%v", err)
	require.ErrorContains(t, start("mysql://u:secret@h/d"), "sqlite://FOLDER")
	require.NotContains(t, start("mysql://u:secret@h/d").Error(), "secret")

	at := ledger(t)
	require.NoError(t, start(at))
	require.NoError(t, start(at), "again")
	mine := o
	o = newOwner(t)
	require.ErrorContains(t, start(at), "that of another database")

	// Where none is set, each database has its own.
	t.Setenv("XDG_DATA_HOME", t.TempDir())
	require.NoError(t, start(""))
	o = mine
	require.NoError(t, start(""))
	found, err := filepath.Glob(filepath.Join(os.Getenv("XDG_DATA_HOME"), "shop", "*", "koan.ledger"))
	require.NoError(t, err)
	require.Len(t, found, 2)

	// A database of another kind may have it.
	k := o.serve(t, pgtest.Place(t))
	r := k.Run(`SDK.Entities.Todo.upsert({id: "a", title: "t"}); 1`, koantest.Input{})
	_, err = k.Call("code::koan.undo", map[string]any{"runId": r.RunID})
	require.NoError(t, err)
	require.Zero(t, o.count(t, "todos"))
}

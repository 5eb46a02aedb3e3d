package owndata

import (
	"context"
	"encoding/json"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"entgo.io/ent/dialect"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/koantest"
)

// onForeign is a part of the names of tests over a database that belongs to another program.
const onForeign = "foreign"

// everywhere runs a test as both does, over databases with the system's tables and over those that belong to
// another program.
func everywhere(t *testing.T, test func(*testing.T)) {
	t.Run("own", func(t *testing.T) { both(t, test) })
	t.Run(onForeign, func(t *testing.T) { both(t, test) })
}

// staysAsItIs checks at the end of a test that the database has the tables and the settings that it had at its
// beginning.
func (o owner) staysAsItIs(t *testing.T) {
	t.Helper()
	before := o.schema(t)
	t.Cleanup(func() { require.Equal(t, before, o.schema(t)) })
}

// schema is all that the database has besides rows.
func (o owner) schema(t *testing.T) (out []string) {
	t.Helper()
	query := "SELECT type || ' ' || name || ' ' || coalesce(sql, '') FROM sqlite_master UNION ALL SELECT 'version ' || user_version FROM pragma_user_version UNION ALL SELECT 'id ' || application_id FROM pragma_application_id ORDER BY 1"
	if o.driver == "pgx" {
		query = "SELECT relkind::text || ' ' || relname FROM pg_class WHERE relnamespace = current_schema()::regnamespace UNION ALL SELECT 'function ' || proname FROM pg_proc WHERE pronamespace = current_schema()::regnamespace ORDER BY 1"
	}
	db := o.open(t).DB()
	defer func() { require.NoError(t, db.Close()) }()
	rows, err := db.Query(query)
	require.NoError(t, err)
	defer func() { require.NoError(t, rows.Close()) }()
	for rows.Next() {
		var line string
		require.NoError(t, rows.Scan(&line))
		require.NotContains(t, line, "koan_")
		out = append(out, line)
	}
	require.NoError(t, rows.Err())
	return out
}

// killPoint is the variable that tells a child process at which point of a commit it is killed.
const killPoint = "KOAN_OWNDATA_DEADLY"

// The values of killPoint.
const (
	inTheScript  = "in the script"
	beforeCommit = "before the commit"
	afterCommit  = "after the commit"
)

// dying is a driver whose process is killed at the first commit of a new row.
type dying struct {
	dialect.Driver
	at string
}

func (d dying) Tx(ctx context.Context) (dialect.Tx, error) {
	tx, err := d.Driver.Tx(ctx)
	return &dyingTx{Tx: tx, at: d.at}, err
}

type dyingTx struct {
	dialect.Tx
	at    string
	wrote bool
}

func (d *dyingTx) note(query string) {
	if strings.Contains(query, "INSERT INTO") {
		d.wrote = true
		d.die(inTheScript)
	}
}

func (d *dyingTx) Exec(ctx context.Context, query string, args, v any) error {
	d.note(query)
	return d.Tx.Exec(ctx, query, args, v)
}

func (d *dyingTx) Query(ctx context.Context, query string, args, v any) error {
	d.note(query)
	return d.Tx.Query(ctx, query, args, v)
}

func (d *dyingTx) Commit() error {
	d.die(beforeCommit)
	err := d.Tx.Commit()
	d.die(afterCommit)
	return err
}

func (d *dyingTx) die(at string) {
	if d.wrote && d.at == at {
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
	}
}

// keyed is the run of the process that is killed.
var keyed = map[string]any{"code": `SDK.Entities.Todo.upsert({id: "a", title: "t"}).id`, "idempotencyKey": "once"}

// TestProcessKilledAtCommit is the process that is killed; it does nothing where nobody has started it for that.
func TestProcessKilledAtCommit(t *testing.T) {
	if os.Getenv(killPoint) == "" {
		return
	}
	o := owner{driver: os.Getenv(killedDriver), source: os.Getenv(killedSource), foreign: true}
	app := o.app()
	open := app.Open
	app.Open = func(ctx context.Context, set string) (dialect.Driver, error) {
		drv, err := open(ctx, set)
		return dying{drv, os.Getenv(killPoint)}, err
	}
	k := koantest.New(t, app, o.settings(os.Getenv(killedLedger))...)
	_, _ = execute(t, k, keyed)
}

// Of a process that was killed between its intent and its settlement nobody knows whether the database
// has committed, and nothing is done twice.
func TestOutcomeOfAKilledCommit(t *testing.T) {
	for at, rows := range map[string]int{inTheScript: 0, beforeCommit: 0, afterCommit: 1} {
		t.Run(strings.ReplaceAll(at, " ", "-")+"/"+onForeign, func(t *testing.T) {
			both(t, func(t *testing.T) {
				o, place := newOwner(t), ledger(t)
				program, err := os.Executable()
				require.NoError(t, err)
				cmd := exec.Command(program, "-test.run", "^TestProcessKilledAtCommit$")
				cmd.Env = append(os.Environ(), killPoint+"="+at, killedDriver+"="+o.driver, killedSource+"="+o.source, killedLedger+"="+place)
				out, err := cmd.CombinedOutput()
				var exit *exec.ExitError
				require.ErrorAs(t, err, &exit, string(out))
				require.Equal(t, syscall.SIGKILL, exit.Sys().(syscall.WaitStatus).Signal(), string(out))
				require.Equal(t, rows, o.count(t, "todos"))

				if at == beforeCommit {
					forgetProcesses(t, place)
				}
				k := o.serve(t, place)
				answer := retried(t, k)
				if at == inTheScript {
					require.NoError(t, answer)
					require.Equal(t, 1, o.count(t, "todos"))
					return
				}
				f := fault.From(answer)
				require.Equal(t, fault.OutcomeUnknown, f.Code, "%v", f)
				require.Contains(t, f.Message, `with the key "once"`)
				require.Contains(t, f.Message, f.Details.(map[string]any)["runId"])
				require.Equal(t, rows, o.count(t, "todos"), "nothing is done again")
				requireUnknownInJournal(t, k, f.Details.(map[string]any)["runId"].(string))

				_, err = execute(t, k, map[string]any{"code": `SDK.Entities.Todo.upsert({id: "b", title: "t"}); 1`, "idempotencyKey": "another"})
				require.NoError(t, err)
				require.Equal(t, rows+1, o.count(t, "todos"))
			})
		})
	}
}

// forgetProcesses takes from a ledger what it knows of processes: one that is killed at once may not have
// written that it exists.
func forgetProcesses(t *testing.T, place string) {
	t.Helper()
	var file string
	require.NoError(t, filepath.WalkDir(strings.TrimPrefix(place, "sqlite://"), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Ext(path) == ".ledger" {
			file = path
		}
		return err
	}))
	require.NotEmpty(t, file)
	db := sqlitedriver.Open("file:" + file)
	defer db.Close()
	for _, table := range []string{"koan_writers", "koan_begun"} {
		_, err := db.Exec("DELETE FROM " + table)
		require.NoError(t, err)
	}
}

// retried sends the run again until the lease of the dead process is over.
func retried(t *testing.T, k *koantest.Kit) (err error) {
	t.Helper()
	require.Eventually(t, func() bool {
		_, err = execute(t, k, keyed)
		return fault.CodeOf(err) != fault.InProgress
	}, time.Minute, 50*time.Millisecond)
	return err
}

func requireUnknownInJournal(t *testing.T, k *koantest.Kit, run string) {
	t.Helper()
	page, err := k.Instance().Runs(auth.With(t.Context(), auth.Local()), journal.Query{Most: 10})
	require.NoError(t, err)
	for _, raw := range page.Runs {
		var r struct{ ID, Outcome string }
		require.NoError(t, json.Unmarshal(raw, &r))
		if r.ID == run {
			require.Equal(t, string(fault.OutcomeUnknown), r.Outcome, string(raw))
			return
		}
	}
	t.Fatalf("the journal has no run %s: %s", run, page.Runs)
}

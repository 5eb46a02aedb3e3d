//go:build unix

package engine_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/database/sqlitedriver"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/fixture/ent"
)

// filled stores entities until one is refused, and returns why.
func (a *app) filled() *fault.Fault {
	a.Helper()
	for range 2000 {
		if _, _, err := a.try("Todo.upsert", fmt.Sprintf(`{"model":{"title":"x","notes":%q}}`, strings.Repeat("y", 5000))); err != nil {
			return fault.From(err)
		}
	}
	require.Fail(a, "the disk is not full yet")
	return nil
}

// isFull checks a fault that a caller gets for want of room.
func isFull(t *testing.T, f *fault.Fault, folder string) {
	t.Helper()
	require.Equal(t, fault.ServiceUnavailable, f.Code, "%v (%v)", f, f.Unwrap())
	require.Equal(t, fault.Safe, f.Retry)
	require.Contains(t, f.Message, "is full")
	raw, err := json.Marshal(f)
	require.NoError(t, err)
	require.NotContains(t, string(raw), folder)
	require.NotContains(t, string(raw), ".db")
}

// bounded connects to a file that stays small.
type bounded string

func (b bounded) Driver() driver.Driver { return sqlitedriver.Driver() }

func (b bounded) Connect(ctx context.Context) (driver.Conn, error) {
	c, err := sqlitedriver.Connect(string(b))
	if err != nil {
		return nil, err
	}
	_, err = c.(driver.ExecerContext).ExecContext(ctx, "PRAGMA max_page_count = 200", nil)
	return c, err
}

// The database says that it is full where the app opened it with a bound.
func TestFullDatabaseIsAFault(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	folder := t.TempDir()
	file := filepath.Join(folder, "bounded.db")
	for name, opts := range map[string][]ent.EntitiesOption{"native": nil, "hooked": {ent.OnClient(func(c *ent.Client) { c.Use(passing) })}} {
		t.Run(name, func(t *testing.T) {
			db := sql.OpenDB(bounded("file:" + file + "?_fk=1&_journal_mode=WAL&_busy_timeout=5000"))
			require.NoError(t, ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db))).Schema.Create(t.Context()))
			a := openedHere(t, db, ent.Entities(opts...))
			isFull(t, a.filled(), folder)
			require.Positive(t, a.call("Todo.count", `{}`)["count"], "what was there can be read")
			a.call("Todo.delete-by-query", `{"filter":{},"maxAffected":2000}`)
			a.call("Todo.upsert", `{"model":{"title":"room again"}}`)
		})
	}
}

// openedHere is an app that opens its database itself.
func openedHere(t *testing.T, db *sql.DB, shimmed *shim.App) *app {
	t.Helper()
	p := entities.Provide(shimmed, entities.Options{Open: func(context.Context, string) (dialect.Driver, error) { return entsql.OpenDB(dialect.SQLite, db), nil }})
	require.NoError(t, p.Start(t.Context(), host{"sqlite://" + t.TempDir()}))
	t.Cleanup(func() { require.NoError(t, p.Stop(context.Background())) })
	s, err := catalog.NewSnapshot(p.Offer())
	require.NoError(t, err)
	return &app{TB: t, engine: run.NewEngine(run.Options{}), provider: p, as: auth.Local(), view: s.View(auth.Local(), exposure.Full, false)}
}

// A file that cannot be written refuses writes, not reads.
func TestReadOnlyDatabaseIsAFault(t *testing.T) { // not parallel: ent's Create writes to tables that all tests share
	folder := t.TempDir()
	file := filepath.Join(folder, "kept.db")
	db := sqlitedriver.Open("file:" + file + "?_fk=1")
	require.NoError(t, ent.NewClient(ent.Driver(entsql.OpenDB(dialect.SQLite, db))).Schema.Create(t.Context()))
	openedHere(t, db, ent.Entities()).call("Todo.upsert", `{"model":{"id":"1","title":"x"}}`)
	db = sqlitedriver.Open("file:" + file + "?_fk=1&mode=ro")
	a := openedHere(t, db, ent.Entities())
	require.Equal(t, "x", a.call("Todo.get-by-id", `{"id":"1"}`)["title"])
	f := a.fails(fault.ServiceUnavailable, "Todo.patch", `{"id":"1","changes":{"title":"y"}}`)
	require.Contains(t, f.Message, "cannot be written")
	require.NotContains(t, f.Message+f.Hint, folder)
}

// smallFiles is the environment variable that makes this test's binary an app in
// a folder where no file gets larger than a bound: the system refuses more as it
// does on a full disk.
const smallFiles = "KOAN_TEST_SMALL_FILES"

func TestFullDiskIsAFault(t *testing.T) {
	t.Parallel()
	if folder := os.Getenv(smallFiles); folder != "" {
		onSmallFiles(t, folder)
		return
	}
	folder := t.TempDir()
	child := exec.Command(os.Args[0], "-test.run=^TestFullDiskIsAFault$", "-test.v")
	child.Env = append(os.Environ(), smallFiles+"="+folder)
	out, err := child.CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), "--- PASS: TestFullDiskIsAFault")
}

func onSmallFiles(t *testing.T, folder string) {
	a := startIn(t, "sqlite://"+folder, ent.Entities())
	a.call("Todo.upsert", `{"model":{"id":"first","title":"x"}}`)
	signal.Ignore(syscall.SIGXFSZ) // which would end the process
	bound := func(bytes uint64) {
		require.NoError(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: bytes, Max: 1 << 40}))
	}
	bound(600 << 10)
	isFull(t, a.filled(), folder)
	require.Equal(t, "x", a.call("Todo.get-by-id", `{"id":"first"}`)["title"])
	bound(4 << 10)
	_, _, err := a.try("Todo.upsert", `{"model":{"title":"x"},"set":"tenant-a"}`) // a set that is not there yet
	require.Error(t, err)
	isFull(t, fault.From(err), folder)
	raw, err := os.ReadDir(folder)
	require.NoError(t, err)
	for _, file := range raw {
		require.NotEqual(t, "tenant-a.db", file.Name(), "nothing half-made has the set's name")
	}
	bound(1 << 40)
	a.call("Todo.upsert", `{"model":{"title":"x"},"set":"tenant-a"}`)
}

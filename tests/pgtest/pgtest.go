// Package pgtest starts a PostgreSQL server for the tests of one package: a real
// one, from Debian's binaries, with an empty cluster of its own that nothing else
// uses. It stops when the test's process ends, however it ends.
//
// What belongs here: the server and names for what tests make in it. Not here:
// an import by anything but a test, or a server that somebody else runs.
package pgtest

import (
	"database/sql"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver under test
	"github.com/koan-go/koan/tests/needs"
)

// errMissing says that there are no binaries.
var errMissing = errors.New("PostgreSQL is not on this machine")

var (
	once    sync.Once
	folder  string
	failure error
	held    []io.Closer // the server lives as long as these are open
	count   atomic.Int64
)

// Server returns the URL of the server's database, which all tests of the package
// share; it starts the server at the first call. Tests keep out of each other's
// way by Place.
func Server(t testing.TB) string {
	t.Helper()
	once.Do(func() { folder, failure = start() })
	if errors.Is(failure, errMissing) {
		needs.Missing(t, "PostgreSQL")
	}
	if failure != nil {
		t.Fatalf("PostgreSQL did not start: %v", failure)
	}
	return (&node{folder: folder}).url()
}

// together is how many places share a database. What Atlas asks of a catalog takes as long as the
// catalog has schemas, seconds for hundreds of them; a database of its own for each costs more.
const together = 16

// databases are those of the places: a *sync.Once by name.
var databases sync.Map

// Place returns the URL of a place of the test's own on the server, as the setting
// `database` takes it: no other test's sets are in it.
func Place(t testing.TB) string {
	t.Helper()
	n := count.Add(1)
	name := fmt.Sprintf("places%d", n/together)
	first, _ := databases.LoadOrStore(name, &sync.Once{})
	first.(*sync.Once).Do(func() { Psql(t, Server(t), "CREATE DATABASE "+name) })
	return fmt.Sprintf("%s&schema_prefix=t%d", strings.Replace(Server(t), "/postgres?", "/"+name+"?", 1), n)
}

// Open returns a pool whose connections work in an empty schema of the test's own.
func Open(t testing.TB) *sql.DB {
	t.Helper()
	schema := fmt.Sprintf("own%d", count.Add(1))
	db, err := sql.Open("pgx", Server(t)+"&search_path="+schema)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.Exec("CREATE SCHEMA " + schema); err != nil {
		t.Fatal(err)
	}
	return db
}

// Psql runs statements beside the app, as somebody at a terminal would: in the database of the
// server, or in that of a place.
func Psql(t testing.TB, at string, statements ...string) {
	t.Helper()
	at, _, _ = strings.Cut(at, "&schema_prefix=")
	db, err := sql.Open("pgx", at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	for _, s := range statements {
		if _, err := db.Exec(s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// program finds one of the server's programs: PATH first, then where Debian keeps
// those of each version, the newest first.
func program(name string) (string, error) {
	if path, err := exec.LookPath(name); err == nil {
		return path, nil
	}
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/" + name)
	if len(found) == 0 {
		return "", errMissing
	}
	slices.Sort(found)
	return found[len(found)-1], nil
}

// settings trade safety for speed: the data is gone with the test anyway.
var settings = []string{
	"fsync=off", "synchronous_commit=off", "full_page_writes=off", "wal_level=minimal", "max_wal_senders=0", "autovacuum=off",
	"listen_addresses=", "max_connections=400", "shared_buffers=64MB", "max_locks_per_transaction=512", "timezone=UTC",
}

// durable are the settings of Durable, which come after those.
var durable = []string{"fsync=on", "synchronous_commit=on", "full_page_writes=on", "autovacuum=on"}

// Durable makes the server that is about to start keep what it says that it keeps, for benchmarks.
func Durable(t testing.TB) {
	t.Helper()
	if folder != "" {
		t.Fatal("the server runs already: run this benchmark without tests")
	}
	settings = append(settings, durable...)
}

// script starts the server and waits until its input ends, which is when the
// test's process does; then nothing is left of it.
const script = `folder=$1 server=$2; shift 2
trap '' INT TERM HUP
"$server" -D "$folder/data" -k "$folder" "$@" >"$folder/log" 2>&1 </dev/null &
read -r end
kill -QUIT $!; wait; rm -rf "$folder"`

// start makes a cluster and a server in a folder that it returns.
func start() (string, error) {
	n, err := newServer()
	if err != nil {
		return "", err
	}
	held = append(held, n)
	return n.folder, n.start(settings)
}

// node is one server in a folder of its own.
type node struct {
	folder string
	lent   *syscall.SysProcAttr
	alive  io.Closer // the server lives as long as it is open
}

// newServer makes a server without data.
func newServer() (*node, error) {
	return newNode("initdb", "-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C", "--no-sync", "--no-instructions", "--wal-segsize=4")
}

// newNode makes the data of a server with a program that takes -D. PostgreSQL does not run as root, so a test that does
// runs it as another user.
func newNode(by string, args ...string) (*node, error) {
	made, err := program(by)
	if err != nil {
		return nil, err
	}
	folder, err := os.MkdirTemp("", "koan-pg-") // short: a socket's path has at most 107 characters
	if err != nil {
		return nil, err
	}
	n := &node{folder: folder}
	if n.lent, err = Lend(folder); err != nil {
		return nil, err
	}
	if out, err := n.command(made, append([]string{"-D", filepath.Join(folder, "data")}, args...)...).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w: %s", by, err, out)
	}
	return n, nil
}

func (n *node) command(name string, args ...string) *exec.Cmd {
	c := exec.Command(name, args...)
	c.Dir, c.SysProcAttr = n.folder, n.lent
	return c
}

// start starts the server, which takes connections when it returns.
func (n *node) start(settings []string) error {
	server, err := program("postgres")
	if err != nil {
		return err
	}
	args := []string{"-c", script, "sh", n.folder, server}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	running := n.command("/bin/sh", args...)
	if n.alive, err = running.StdinPipe(); err != nil {
		return err
	}
	if err := running.Start(); err != nil {
		return err
	}
	return ready(n.folder)
}

// Close ends the server, and removes its folder.
func (n *node) Close() error { return n.alive.Close() }

func (n *node) url() string { return "postgres://postgres@/postgres?host=" + n.folder }

// ready waits until the server takes connections.
func ready(folder string) error {
	db, err := sql.Open("pgx", (&node{folder: folder}).url())
	if err != nil {
		return err
	}
	defer db.Close()
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(10 * time.Millisecond) {
		err := db.Ping()
		if err == nil {
			return nil
		}
		if time.Now().After(deadline) {
			log, _ := os.ReadFile(filepath.Join(folder, "log"))
			return fmt.Errorf("%w: %s", err, strings.TrimSpace(string(log)))
		}
	}
}

// Value returns the one value of a query, as a text.
func Value(t testing.TB, at, query string) (value string) {
	t.Helper()
	at, _, _ = strings.Cut(at, "&schema_prefix=")
	db, err := sql.Open("pgx", at)
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	if err := db.QueryRow(query).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return value
}

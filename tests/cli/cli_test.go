// Package cli runs the commands of an app by scripts: testdata/*.txtar has one for each
// capability, which reads as its manual and holds what is printed. Run the tests with
// -update to write what is printed now into the scripts.
//
// What belongs here: a command, its files, output and exit status. Protocols, signals,
// terminals and concurrency are tested in tests/e2e.
package cli

import (
	"flag"
	"os"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/growth"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/pgtest"
)

var update = flag.Bool("update", false, "write what is printed now into the scripts")

// version is the variable that names the version of the app that a script runs.
const version = "APP_VERSION"

// TestMain makes this test binary the apps that the scripts run.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"fixture": func() {
			app := fixture.App()
			if v := os.Getenv(version); v != "" {
				app.Version = v
			}
			framework.Main(app)
		},
		"growth": func() {
			v, err := strconv.Atoi(os.Getenv(version))
			if err != nil {
				panic(err)
			}
			framework.Main(growth.App(v))
		},
	})
}

// TestScripts runs all scripts on SQLite.
func TestScripts(t *testing.T) {
	runScripts(t, testscript.Params{Dir: "testdata", UpdateScripts: *update}, func(work string) string { return "sqlite://" + work + "/data" })
}

// TestScriptsOnPostgreSQL runs those scripts there that depend on the database, and
// whose output must be the same.
func TestScriptsOnPostgreSQL(t *testing.T) {
	pgtest.Server(t)
	files := []string{"testdata/transfer.txtar", "testdata/approve.txtar", "testdata/approve_rules.txtar", "testdata/migrate.txtar", "testdata/run_refused.txtar"}
	runScripts(t, testscript.Params{Files: files}, func(string) string { return pgtest.Place(t) })
}

// TestScriptsInPython runs those whose scripts need the machine's Python.
func TestScriptsInPython(t *testing.T) {
	needs.Program(t, "python3")
	runScripts(t, testscript.Params{Dir: "testdata/python", UpdateScripts: *update}, func(work string) string { return "sqlite://" + work + "/data" })
}

func runScripts(t *testing.T, p testscript.Params, database func(work string) string) {
	p.RequireUniqueNames = true
	p.Cmds = commands
	p.Setup = func(env *testscript.Env) error {
		env.Setenv("HOME", env.WorkDir)
		env.Setenv("KOAN_DATABASE", database(env.WorkDir))
		env.Values[maskKey{}] = newMask(env.WorkDir)
		return nil
	}
	testscript.Run(t, p)
}

func TestMaskNumbersIDs(t *testing.T) {
	m := newMask("/tmp/work")
	const a, b = "019e1c1a-0000-7000-8000-000000000000", "019e1c1a-0000-7000-8000-000000000001"
	require.Equal(t, "<id 1> <id 2> <id 1> <trace 1>", m.apply(a+" "+b+" "+a+" 0123456789abcdef0123456789abcdef"))
	require.Equal(t, "<id 2> at <time> in $WORK/data, <n> ms", m.apply(b+" at 2026-11-23T03:00:00.123Z in /tmp/work/data, 17 ms"))
}

// Package architecture holds the rules of the house against the import graph and
// the source: which room may know which, and what may stand only in one place.
package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

const module = "github.com/koan-go/koan"

// source is one Go file of the repository.
type source struct {
	path    string // slash-separated, from the root
	pkg     string // folder
	test    bool
	file    *ast.File
	imports []string
}

// sources returns every Go file of the repository.
func sources(t *testing.T) []source {
	t.Helper()
	out, err := parsed()
	require.NoError(t, err)
	require.Greater(t, len(out), 50, "the walk found the repository")
	return out
}

// parsed parses them, once for all tests.
var parsed = sync.OnceValues(func() (out []source, err error) {
	root, err := filepath.Abs("../..")
	if err != nil {
		return nil, err
	}
	err = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(root, path)
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if name := d.Name(); rel != "." && (strings.HasPrefix(name, ".") || name == "node_modules" || name == "testdata" || rel == "bin" || rel == "tools") {
				return filepath.SkipDir
			}
			return nil
		}
		if !strings.HasSuffix(rel, ".go") {
			return nil
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		f, err := parser.ParseFile(token.NewFileSet(), rel, raw, parser.ParseComments)
		if err != nil {
			return err
		}
		s := source{path: rel, pkg: filepath.ToSlash(filepath.Dir(rel)), test: strings.HasSuffix(rel, "_test.go"), file: f}
		for _, i := range f.Imports {
			p, _ := strconv.Unquote(i.Path.Value)
			s.imports = append(s.imports, p)
		}
		out = append(out, s)
		return nil
	})
	return out, err
})

// own returns a package of this repository as a folder, "" for others.
func own(imported string) string {
	if imported == module {
		return "."
	}
	rest, ok := strings.CutPrefix(imported, module+"/")
	if !ok {
		return ""
	}
	return rest
}

func under(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// seams are the packages of the kernel that providers build on.
var seams = []string{"framework/catalog", "framework/seccomp", "framework/mounts", "framework/run", "framework/run/store", "framework/run/observe", "framework/run/tape", "framework/run/once", "framework/run/approve", "framework/run/replay", "framework/run/undo", "framework/run/record", "framework/run/live", "framework/run/follow", "framework/fault", "framework/auth", "framework/journal", "framework/exposure", "framework/ask", "framework/deadline", "framework/inflight", "framework/approval", "framework/exact", "framework/schema", "framework/schema/gotype", "framework/schema/subschema", "framework/seal", "framework/regular", "framework/filelock", "framework/position"}

func TestProvidersImportOnlyTheKernel(t *testing.T) {
	t.Parallel()
	rooms := []string{"entities", "codemode", "plugins"}
	for _, s := range sources(t) {
		for _, room := range rooms {
			if !under(s.pkg, room) || s.test || slices.Contains(s.imports, "testing") { // which is for tests only
				continue
			}
			for _, i := range s.imports {
				p := own(i)
				if p == "" || under(p, room) {
					continue
				}
				require.True(t, slices.Contains(seams, p) || room == "entities" && keepsData(p), "%s imports %s", s.path, i)
			}
		}
	}
}

// keepsData reports whether a package is of the rooms that know how data is kept: database and ledger.
func keepsData(pkg string) bool {
	return under(pkg, "framework/database") || under(pkg, "framework/ledger")
}

// Databases and the ledger stand beside the kernel, which does not know them: entities and the root
// alone are built on them, and a ledger on databases, never the reverse.
func TestDatabaseAndLedgerImportedByEntitiesAndRootOnly(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.pkg == "framework" || s.pkg == "framework/koantest" || under(s.pkg, "entities") || under(s.pkg, "framework/ledger") {
			continue
		}
		for _, i := range s.imports {
			p := own(i)
			require.False(t, under(p, "framework/ledger"), "%s imports %s", s.path, i)
			require.False(t, under(p, "framework/database") && !under(s.pkg, "framework/database"), "%s imports %s", s.path, i)
		}
	}
}

// Its root, which puts everything together, and koantest alone know the wings.
func TestFrameworkImportsNoProvider(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if !under(s.pkg, "framework") || s.test || s.pkg == "framework" || s.pkg == "framework/koantest" {
			continue
		}
		for _, i := range s.imports {
			if p := own(i); p != "" {
				require.True(t, under(p, "framework"), "%s imports %s", s.path, i)
			}
		}
	}
}

// public are the packages that others may import, and who needs them.
var public = map[string]string{
	"framework": "apps", "framework/koantest": "tests of apps", "framework/build": "the developer's tool, and the linker", "framework/manual": "the developer's tool",
	"framework/fault": "apps and plugins", "framework/auth": "apps", "framework/exposure": "apps", "framework/catalog": "providers, generated code",
	"framework/run": "hooks of apps (AfterCommit), providers", "framework/run/store": "providers", "framework/run/observe": "surfaces, observers", "framework/run/tape": "hooks of apps, providers", "framework/run/once": "providers", "framework/run/approve": "providers", "framework/run/replay": "providers", "framework/run/undo": "providers", "framework/run/live": "providers", "framework/run/record": "providers", "framework/run/follow": "providers", "framework/ask": "operations that ask", "framework/deadline": "providers",
	"framework/approval": "providers", "framework/journal": "providers", "framework/exact": "providers", "framework/schema": "providers", "framework/schema/gotype": "plugins", "framework/schema/subschema": "providers", "framework/seal": "providers", "framework/regular": "providers", "framework/filelock": "providers", "framework/inflight": "providers", "framework/position": "providers", "framework/seccomp": "workers, plugins", "framework/mounts": "workers, plugins",
	"framework/database": "package entities", "framework/database/appdb": "package entities", "framework/database/sqlite": "package entities", "framework/database/postgres": "package entities", "framework/database/sqlitedriver": "package entities", "framework/database/sqltext": "package entities", "framework/database/fold": "package entities", "framework/database/words": "package entities", "framework/database/zone": "package entities", "framework/ledger": "package entities", "framework/ledger/books": "packages framework and entities",
	"entities": "package framework", "entities/expose": "schemas", "entities/entgen": "ent/entc.go", "entities/shim": "generated code", "entities/descriptor": "generated code", "entities/entschema": "the developer's tool",
	"codemode": "package framework", "codemode/languages": "programs that are workers", "codemode/worker": "programs that measure workers, and the linker",
	"plugins": "package framework", "plugins/conformance": "the developer's tool", "plugins/kit": "plugins", "plugins/kit/kittest": "tests of plugins", "plugins/manage": "the developer's tool", "plugins/upstream": "package framework",
}

func TestUnusedPackagesAreInternal(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, s := range sources(t) {
		wing := under(s.pkg, "framework") || under(s.pkg, "entities") || under(s.pkg, "codemode") || under(s.pkg, "plugins") && !under(s.pkg, "plugins/vision") && s.pkg != "plugins/python" && s.pkg != "plugins/typescript" // which hold files of other languages
		if !wing || s.test || strings.Contains(s.pkg, "/internal/") {
			continue
		}
		require.Contains(t, public, s.pkg, "%s: what nobody outside of its wing imports belongs into internal/", s.path)
		seen[s.pkg] = true
	}
	for p := range public {
		require.True(t, seen[p], "%s is public, and not there", p)
	}
}

func TestGroundFloorImports(t *testing.T) {
	t.Parallel()
	allowed := map[string][]string{
		"framework/fault":                    {},
		"framework/auth":                     {},
		"framework/exposure":                 {},
		"framework/approval":                 {"framework/fault"},
		"framework/journal":                  {"framework/fault", "framework/auth"},
		"framework/catalog":                  {"framework/fault", "framework/auth", "framework/exposure", "framework/schema/subschema"},
		"framework/exact":                    {},
		"framework/schema":                   {"framework/fault", "framework/exact", "framework/schema/subschema"},
		"framework/schema/subschema":         {"framework/fault"},
		"framework/schema/gotype":            {"framework/fault", "framework/exact"},
		"framework/seal":                     {},
		"framework/seccomp":                  {},
		"framework/mounts":                   {},
		"framework/regular":                  {},
		"framework/filelock":                 {},
		"framework/deadline":                 {},
		"framework/position":                 {"framework/fault"},
		"framework/ask":                      {"framework/fault", "framework/schema", "framework/exact"},
		"framework/run/tape":                 {"framework/fault"},
		"framework/run/store":                {"framework/run/tape", "framework/journal"},
		"framework/run/observe":              {"framework/catalog", "framework/run/tape"},
		"framework/run/internal/budget":      {"framework/fault", "framework/exact"},
		"framework/run/internal/callfault":   {"framework/fault", "framework/catalog"},
		"framework/run/internal/conform":     {"framework/schema", "framework/fault", "framework/catalog"},
		"framework/run/internal/course":      {"framework/fault", "framework/run/tape", "framework/run/store", "framework/run/internal/budget"},
		"framework/run/internal/detached":    {"framework/deadline", "framework/fault"},
		"framework/run/internal/progress":    {"framework/run/store", "framework/journal", "framework/run/internal/course"},
		"framework/run/internal/transaction": {"framework/fault", "framework/run/store", "framework/journal"},
		"framework/run":                      {"framework/position", "framework/run/store", "framework/run/internal/aftercommit", "framework/run/observe", "framework/run/tape", "framework/run/internal/budget", "framework/run/internal/callfault", "framework/run/internal/conform", "framework/run/internal/course", "framework/run/internal/detached", "framework/run/internal/progress", "framework/run/internal/transaction", "framework/ask", "framework/fault", "framework/auth", "framework/catalog", "framework/journal", "framework/approval"},
		"framework/internal/toolset":         {"framework/fault", "framework/catalog", "framework/exact"},
		"framework/run/follow":               {"framework/auth", "framework/catalog", "framework/journal", "framework/run/store"},
		"framework/internal/feed":            {"framework/fault", "framework/catalog", "framework/internal/invoke", "framework/run/follow", "framework/run/store"},
		"framework/database/fold":            {},
		"framework/database/words":           {"framework/database/fold"},
		"framework/database/zone":            {"framework/fault"},
		"framework/database/sqltext":         {"framework/database/fold", "framework/database/words", "framework/database/zone"},
		"framework/database/sqlitedriver":    {"framework/database/fold", "framework/database/words", "framework/database/zone"},
		"framework/database":                 {"framework/fault", "framework/run/store", "framework/database/sqltext"},
		"framework/database/sqlite":          {"framework/fault", "framework/run/store", "framework/filelock", "framework/database", "framework/database/sqltext", "framework/database/sqlitedriver"},
		"framework/database/postgres":        {"framework/fault", "framework/position", "framework/run/store", "framework/database", "framework/database/sqltext"},
		"framework/database/appdb":           {"framework/fault", "framework/run/store", "framework/database", "framework/database/sqltext", "framework/database/sqlite", "framework/database/postgres"},
		"framework/internal/config":          {"framework/fault", "framework/catalog", "framework/regular"},
	}
	for _, s := range sources(t) {
		may, ok := allowed[s.pkg]
		if !ok || s.test {
			continue
		}
		for _, i := range s.imports {
			if p := own(i); p != "" {
				require.True(t, slices.Contains(may, p), "%s imports %s", s.path, i)
			}
		}
	}
}

// entityRooms are the rooms of the entities' engine, from the ground up, and which of the others each knows. What
// a transaction is knows nobody who asks; rules know a transaction, and not what is written in it; the account of that asks rules, and knows
// no operation; an undo and the change log ask those who use them through interfaces of their own.
var entityRooms = map[string][]string{
	"changes":     {"model"},
	"filter":      {},
	"read":        {"filter"},
	"statement":   {"filter", "read"},
	"transaction": {"changes", "model", "read", "statement"},
	"rules":       {"changes", "filter", "model", "transaction"},
	"account":     {"changes", "filter", "model", "read", "rules", "transaction"},
	"mutation":    {"account", "changes", "filter", "model", "statement", "transaction"},
	"refusal":     {"changes", "filter", "model", "mutation", "rules", "transaction"},
	"write":       {"account", "changes", "filter", "model", "mutation", "read", "refusal", "rules", "statement"},
	"changelog":   {"account", "filter", "model"},
	"restore":     {"account", "changes", "filter", "model", "rules"},
}

func TestRoomsOfEntitiesImportDownwards(t *testing.T) {
	t.Parallel()
	const wing = "entities/internal/"
	seen := map[string]bool{}
	for _, s := range sources(t) {
		room, ok := strings.CutPrefix(s.pkg, wing)
		may, known := entityRooms[room]
		if !ok || !known || s.test {
			continue
		}
		seen[room] = true
		for _, i := range s.imports {
			if other, ok := strings.CutPrefix(own(i), wing); ok {
				require.Contains(t, may, other, "%s imports %s", s.path, i)
			}
		}
	}
	for room := range entityRooms {
		require.True(t, seen[room], "there is no room %s", room)
	}
}

// A participant takes part in runs as their phases have it (framework/run/phases.go): a run
// knows none of them, and none knows another.
func TestRunImportsNoParticipant(t *testing.T) {
	t.Parallel()
	const room = "framework/run"
	participants := []string{room + "/once", room + "/approve", room + "/replay", room + "/undo", room + "/record", room + "/live"}
	for _, s := range sources(t) {
		if !under(s.pkg, room) || s.test {
			continue
		}
		for _, i := range s.imports {
			if p := own(i); slices.Contains(participants, p) {
				t.Errorf("%s imports %s", s.path, i)
			}
		}
	}
}

func TestOnlyAppsImportEverything(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || under(s.pkg, "framework") {
			continue
		}
		if slices.Contains(s.imports, module+"/framework") {
			require.True(t, under(s.pkg, "sample-pantrypal") || under(s.pkg, "cmd") || under(s.pkg, "tests"), "%s imports the root of the framework", s.path)
		}
	}
}

func TestOnlyTelemetryImportsOpenTelemetry(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test || s.pkg == "framework/internal/telemetry" {
			continue
		}
		for _, i := range s.imports {
			require.False(t, under(i, "go.opentelemetry.io") || under(i, "github.com/prometheus"), "%s imports %s", s.path, i)
		}
	}
}

func TestExposeImports(t *testing.T) {
	t.Parallel()
	for _, s := range sources(t) {
		if s.test {
			continue
		}
		if s.pkg == "entities/expose" {
			for _, i := range s.imports {
				require.True(t, i == "entgo.io/ent/schema" || !strings.Contains(i, "."), "%s imports %s", s.path, i)
			}
		}
		if app, ok := strings.CutSuffix(s.pkg, "/ent/schema"); ok {
			for _, i := range s.imports {
				if p := own(i); p != "" {
					require.True(t, p == "entities/expose" || under(p, app), "%s imports %s", s.path, i)
				}
			}
		}
	}
}

// workerRooms are what a worker is made of, besides the ground floor.
var workerRooms = []string{"codemode/languages", "codemode/worker", "codemode/internal/language", "codemode/internal/wire"}

func TestWorkerImports(t *testing.T) {
	t.Parallel()
	heavy := []string{"database/sql", "google.golang.org/grpc", "github.com/hashicorp/go-plugin", "github.com/mark3labs/mcp-go", "entgo.io/ent", "github.com/mattn/go-sqlite3", "net/http", "go.opentelemetry.io/otel", "github.com/prometheus"}
	for _, s := range sources(t) {
		if s.test || !slices.ContainsFunc(workerRooms, func(room string) bool { return under(s.pkg, room) }) {
			continue
		}
		for _, i := range s.imports {
			for _, h := range heavy {
				require.False(t, under(i, h), "%s imports %s", s.path, i)
			}
		}
	}
}

// What a language is made of is its own: a worker, the host of scripts and package language itself know none. Tests of
// the sandbox run scripts in one.
func TestLanguagesStandBehindTheirInterface(t *testing.T) {
	t.Parallel()
	const room = "codemode/internal/language"
	engines := map[string]string{"github.com/dop251/goja": room + "/javascript", "github.com/evanw/esbuild": room + "/javascript"}
	for _, s := range sources(t) {
		for _, i := range s.imports {
			for engine, home := range engines {
				if under(i, engine) {
					require.True(t, under(s.pkg, home) || s.pkg == "framework/internal/console/bundle", "%s imports %s", s.path, i) // which bundles the console's page
				}
			}
			if s.test || under(s.pkg, room+"/javascript") {
				continue
			}
			if p := own(i); s.pkg == room || under(s.pkg, "codemode/worker") || under(s.pkg, "codemode/internal/sandbox") {
				require.False(t, under(p, room+"/javascript") || p == "codemode/languages", "%s imports %s", s.path, i)
			}
		}
	}
}

// The host of scripts knows languages by their lists alone, and which those are stands in one file each.
func TestHostOfScriptsKnowsLanguagesByTheirLists(t *testing.T) {
	t.Parallel()
	const room = "codemode/internal/language/"
	lists := []string{"codemode/languages", room + "sources"}
	for _, s := range sources(t) {
		if s.test || !under(s.pkg, "codemode") || under(s.pkg, room+"javascript") || slices.Contains(lists, s.pkg) || s.pkg == room+"node/source" { // whose texts are JavaScript
			continue
		}
		for _, i := range s.imports {
			require.False(t, under(own(i), room+"javascript"), "%s imports %s", s.path, i)
		}
	}
}

// otherMeanings are words that are fault codes by chance where they stand.
var otherMeanings = map[string][]string{
	"internal": {"entities/entgen"},
	"timeout":  {"plugins/upstream"}, // a key in files of clients
}

func TestFaultCodesAreInRegistryOnly(t *testing.T) {
	t.Parallel()
	codes := map[string]bool{}
	for _, e := range fault.Entries() {
		codes[string(e.Code)] = true
	}
	for _, s := range sources(t) {
		// An app's schema has words of its own domain: a meal plan may be cancelled.
		if s.test || s.pkg == "framework/fault" || ast.IsGenerated(s.file) || strings.HasSuffix(s.pkg, "ent/schema") {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			lit, ok := n.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return true
			}
			text, err := strconv.Unquote(lit.Value)
			if err == nil && codes[text] && !slices.Contains(otherMeanings[text], s.pkg) {
				t.Errorf("%s: the fault code %q stands outside of framework/fault", s.path, text)
			}
			return true
		})
	}
}

func TestPackagesHaveComments(t *testing.T) {
	t.Parallel()
	documented := map[string]bool{}
	for _, s := range sources(t) {
		if s.test || ast.IsGenerated(s.file) || strings.Contains(s.pkg, "/ent/") || strings.HasSuffix(s.pkg, "/ent") {
			continue
		}
		documented[s.pkg] = documented[s.pkg] || s.file.Doc != nil
	}
	for pkg, ok := range documented {
		require.True(t, ok, "%s has no package comment", pkg)
	}
}

func TestNoCatchAllNames(t *testing.T) {
	t.Parallel()
	vague := []string{"util", "utils", "helper", "helpers", "common", "manager", "misc", "types"}
	for _, s := range sources(t) {
		name := strings.TrimSuffix(filepath.Base(s.path), ".go")
		require.False(t, slices.Contains(vague, name) || slices.Contains(vague, filepath.Base(s.pkg)), s.path)
	}
}

// Only package tests/needs skips tests, which fail instead in CI.
func TestOnlyMissingProgramsSkipTests(t *testing.T) {
	for _, s := range sources(t) {
		if s.pkg == "tests/needs" {
			continue
		}
		ast.Inspect(s.file, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok {
				return true
			}
			f, ok := call.Fun.(*ast.SelectorExpr)
			if !ok {
				return true
			}
			if x, ok := f.X.(*ast.Ident); ok && slices.Contains([]string{"t", "tb", "f"}, x.Name) { // benchmarks prove nothing
				require.NotContains(t, []string{"Skip", "Skipf", "SkipNow"}, f.Sel.Name, "%s skips a test by itself: package tests/needs does", s.path)
			}
			return true
		})
	}
}

// Command bench prints the project's benchmark table: each figure as a ratio to
// the raw thing underneath it, measured in the same run, and what whole processes
// cost. The benchmarks stand beside what they measure; this program runs them.
package main

import (
	"bufio"
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/koan-go/koan/codemode/worker"
)

// suite is a package with benchmarks that report a ratio.
type suite struct {
	pkg   string
	bench string
	rows  []row
}

// row is one line of the table.
type row struct {
	bench   string // the benchmark's name
	what    string
	against string
	metric  string // the unit that is shown
	goal    string
}

var suites = []suite{
	{"./entities/internal/read", "GetByID|Collection20|Aggregate|Search|Million|Notes", []row{
		{"GetByID/SQLite", "read engine: get by id", "prepared database/sql", "x-raw", "1.3"},
		{"Collection20/SQLite", "read engine: 20 rows, filter and sort", "prepared database/sql", "x-raw", "1.4"},
		{"Collection20With2Edges/SQLite", "read engine: 20 rows with two edges", "prepared database/sql", "x-raw", "1.2"},
		{"GetByID/PostgreSQL", "read engine on PostgreSQL: get by id", "prepared database/sql", "x-raw", "1.3"},
		{"Collection20/PostgreSQL", "read engine on PostgreSQL: 20 rows, filter and sort", "prepared database/sql", "x-raw", "1.5"},
		{"Collection20With2Edges/PostgreSQL", "read engine on PostgreSQL: 20 rows with two edges", "prepared database/sql", "x-raw", "1.2"},
		{"Aggregate", "read engine: 10,000 rows in groups by month", "prepared database/sql", "x-raw", ""},
		{"Million/SQLite/StartsWith", "$startsWith on a unique text, 10 of 1,000,000 rows (goal: 1,000 µs)", "a range of its index", "x-raw", ""},
		{"Million/PostgreSQL/StartsWith", "$startsWith on a unique text, 10 of 1,000,000 rows on PostgreSQL (goal: 1,000 µs)", "LIKE by an index of text_pattern_ops", "x-raw", ""},
		{"Million/SQLite/StartsWithAll", "$startsWith on a unique text, the first 50 of 1,000,000 rows", "a range of its index", "x-raw", ""},
		{"Million/PostgreSQL/StartsWithAll", "$startsWith on a unique text, the first 50 of 1,000,000 rows on PostgreSQL", "LIKE by an index of text_pattern_ops", "x-raw", ""},
		{"Million/SQLite/Deep", "page 18,001 of 1,000,000 rows by a sort without an index", "a query of the ids, and one of their rows", "x-raw", "1.2"},
		{"Million/PostgreSQL/Deep", "page 18,001 of 1,000,000 rows on PostgreSQL by a sort without an index", "a query of the ids, and one of their rows", "x-raw", "1.2"},
		{"Search/SQLite/One", "q that finds 1 of 100,000 rows, by the index", "the same by a scan", "x-raw", ""},
		{"Search/SQLite/Hundredth", "q that finds 1,000 of 100,000 rows", "the same by a scan", "x-raw", ""},
		{"Search/SQLite/All", "q that finds all of 100,000 rows", "the same by a scan", "x-raw", ""},
		{"Search/PostgreSQL/One", "q that finds 1 of 100,000 rows on PostgreSQL, by the index", "the same by a scan", "x-raw", ""},
		{"Search/PostgreSQL/Hundredth", "q that finds 1,000 of 100,000 rows on PostgreSQL", "the same by a scan", "x-raw", ""},
		{"Search/PostgreSQL/All", "q that finds all of 100,000 rows on PostgreSQL", "the same by a scan", "x-raw", ""},
		{"Notes/SQLite/Most", "the best 20 of 91,000 of 100,000 notes that q finds, with their count, in ms", "", "ms", "150"},
		{"Notes/SQLite/Many", "the same of 63,000, in ms", "", "ms", ""},
		{"Notes/SQLite/Two", "the same of two words, 80,000 notes, in ms", "", "ms", ""},
		{"Notes/SQLite/Start", "the same of a beginning of words, in ms", "", "ms", ""},
		{"Notes/SQLite/Few", "the same of a rare word, in ms (goal of the floor: 1)", "", "ms", ""},
		{"Notes/PostgreSQL/Most", "the best 20 of 91,000 of 100,000 notes on PostgreSQL, in ms", "", "ms", ""},
		{"Notes/PostgreSQL/Few", "the same of a rare word on PostgreSQL, in ms", "", "ms", ""},
		{"SearchWrite/SQLite/Patch", "UPDATE of a searched text, with the index", "without", "x-raw", ""},
		{"SearchWrite/SQLite/PatchBeside", "UPDATE of another column, with the index", "without", "x-raw", ""},
		{"SearchWrite/SQLite/Thousand", "1,000 INSERTs of searched texts, with the index", "without", "x-raw", ""},
		{"SearchWrite/PostgreSQL/Patch", "UPDATE of a searched text on PostgreSQL, with the index", "without", "x-raw", ""},
		{"SearchWrite/PostgreSQL/PatchBeside", "UPDATE of another column on PostgreSQL, with the index", "without", "x-raw", ""},
		{"SearchWrite/PostgreSQL/Thousand", "1,000 INSERTs of searched texts on PostgreSQL, with the index", "without", "x-raw", ""},
	}},
	{"./framework/database/sqlitedriver", "WithoutC", []row{
		{"WithoutC/Get", "SQLite without C: a row by its key", "the C library", "x-raw", ""},
		{"WithoutC/Page", "SQLite without C: 20 rows, filter and sort", "the C library", "x-raw", ""},
		{"WithoutC/Write", "SQLite without C: UPDATE of a row, committed", "the C library", "x-raw", ""},
	}},
	{"./entities/internal/engine", "Get|Collection20|Aggregate|UpdateByQuery|Patch|Upsert|Effects", []row{
		{"Get/SQLite", "get-by-id, the whole path of a call", "prepared database/sql", "ratio", ""},
		{"GetInScript/SQLite", "get-by-id within a run", "prepared database/sql", "ratio", ""},
		{"Collection20/SQLite", "collection of 20 within a run", "prepared database/sql", "ratio", ""},
		{"Get/PostgreSQL", "get-by-id on PostgreSQL, the whole path of a call", "prepared database/sql", "ratio", "1.3"},
		{"GetInScript/PostgreSQL", "get-by-id on PostgreSQL within a run", "prepared database/sql", "ratio", "1.3"},
		{"Collection20/PostgreSQL", "collection of 20 on PostgreSQL within a run", "prepared database/sql", "ratio", "1.5"},
		{"Aggregate", "aggregate of 10,000 rows within a run", "prepared database/sql", "ratio", ""},
		{"Patch/SQLite", "patch within a run", "prepared UPDATE ... RETURNING", "ratio", "1.5"},
		{"Upsert/SQLite", "upsert within a run, half of them new", "prepared INSERT ... ON CONFLICT ... RETURNING", "ratio", "3"},
		{"UpsertMany/SQLite", "upsert-many of 1,000 new rows as a run", "1,000 prepared INSERTs ... RETURNING", "ratio", "2.5"},
		{"UpsertManyBlind/SQLite", "upsert-many of 1,000 new rows as a run", "1,000 prepared INSERTs, nothing read back", "ratio", ""},
		{"Patch/PostgreSQL", "patch on PostgreSQL within a run", "prepared UPDATE ... RETURNING", "ratio", ""},
		{"Upsert/PostgreSQL", "upsert on PostgreSQL within a run, half of them new", "prepared INSERT ... ON CONFLICT ... RETURNING", "ratio", ""},
		{"UpsertManyBlind/PostgreSQL", "upsert-many of 1,000 new rows on PostgreSQL as a run", "1,000 prepared INSERTs, nothing read back", "ratio", "1"},
		{"Effects/SQLite/Atomic", "a run of ten reads and ten patches, one transaction", "the same by hand, prepared", "ratio", ""},
		{"Effects/SQLite/AtomicAgainstSingle", "that run", "the same with atomic: false, a commit for each call", "ratio", "1"},
		{"Effects/SQLite/Recorded", "that run, with its changes recorded", "the same without", "ratio", ""},
		{"Effects/SQLite/Dry", "that run, only tried", "the same for real", "ratio", ""},
		{"Effects/PostgreSQL/Atomic", "a run of ten reads and ten patches on PostgreSQL, one transaction", "the same by hand, prepared", "ratio", ""},
		{"Effects/PostgreSQL/AtomicAgainstSingle", "that run on PostgreSQL", "the same with atomic: false, a commit for each call", "ratio", "1"},
		{"Effects/PostgreSQL/Recorded", "that run on PostgreSQL, with its changes recorded", "the same without", "ratio", ""},
		{"Effects/PostgreSQL/Dry", "that run on PostgreSQL, only tried", "the same for real", "ratio", ""},
		{"UpdateByQuery", "update of 1,000 rows by query within a run", "1,000 UPDATEs by hand", "ratio", ""},
	}},
	{"./entities/internal/engine", "Journal", []row{
		{"Journal/SQLite/Write", "journal: one patch, in the test's process", "the same without a journal", "ratio", ""},
		{"Journal/SQLite/Script10", "journal: script of 10 reads and a patch, without worker", "the same without a journal", "ratio", ""},
		{"Journal/SQLite/Script100", "journal: script of 100 reads and a patch, without worker", "the same without a journal", "ratio", "1.05"},
		{"Journal/SQLite/Script10", "journal: script of 10 reads and a patch, computing time with what is written beside it", "the same without a journal", "cpu-ratio", ""},
		{"Journal/PostgreSQL/Script10", "journal on PostgreSQL: script of 10 reads and a patch, without worker", "the same without a journal", "ratio", ""},
	}},
	{"./sample-pantrypal", "Journal", []row{
		{"Journal", "journal: PantryPal's script of 10 reads, in its caller's worker", "the same without a journal", "ratio", "1.05"},
		{"Journal", "the same in computing time, with the worker and what is written beside it", "the same without a journal", "cpu-ratio", "1.05"},
		{"Journal", "journal and what a replay needs: that script", "the same without either", "tape-ratio", "1.05"},
		{"Journal", "the same in computing time", "the same without either", "tape-cpu-ratio", "1.05"},
	}},
	{"./sample-pantrypal", "Script", []row{
		{"Script/0", "PantryPal: script without calls, in its caller's worker", "the same in its process", "ratio", ""},
		{"Script/10", "PantryPal: script of 10 reads, in its caller's worker", "the same in its process", "ratio", ""},
		{"Script/1000", "PantryPal: script of 1,000 reads, in its caller's worker", "the same in its process", "ratio", "2.5"},
		{"Script/ModuleNew", "PantryPal: new module in TypeScript that reads a recipe, in its caller's worker", "the same in its process", "ratio", ""},
		{"Script/ModuleAgain", "PantryPal: the same module again (goal: 3,000 µs)", "the same in its process", "ratio", ""},
		{"Script/ModulePageNew", "PantryPal: new module in TypeScript that reads a page of 20, in its caller's worker", "the same in its process", "ratio", ""},
	}},
	{"./codemode/internal/sandbox", "Throughput|Flood|Script", []row{
		{"Throughput", "trivial scripts per second, back to back, as many at once as cores", "", "scripts/s", "1000"},
		{"Flood", "p99 of a caller's script under another's flood", "the same on an idle machine", "ratio", "10"},
		{"Script/calls=0/clients=1/fresh=false", "a trivial script, p50 in ms", "", "p50-ms", "0.6"},
		{"Script/calls=10/clients=1/fresh=false", "a script of 10 calls, p50 in ms", "", "p50-ms", "1.2"},
		{"Script/calls=100/clients=1/fresh=false", "a script of 100 calls, p50 in ms", "", "p50-ms", "4"},
		{"Script/calls=100/clients=1/fresh=false", "CPU of that, in ms", "", "cpu-ms", ""},
		{"Script/calls=100/clients=16/fresh=false", "CPU of one of 16 at once, in ms", "", "cpu-ms", ""},
		{"Script/calls=100/clients=16/fresh=false", "scripts of 100 calls per second, 16 at once", "", "scripts/s", "350"},
		{"Script/calls=0/clients=16/fresh=false", "trivial scripts per second, 16 at once", "", "scripts/s", "2000"},
		{"Script/calls=0/clients=1/fresh=true", "a trivial script in a process of its own, p50 in ms", "", "p50-ms", "4"},
		{"Script/calls=0/clients=1/fresh=true", "CPU of that, in ms", "", "cpu-ms", "8"},
		{"Script/calls=0/clients=16/fresh=true", "trivial scripts per second in processes of their own, 16 at once", "", "scripts/s", "250"},
	}},
	{"./codemode/internal/sandbox", "Start", []row{
		{"Start/koan-worker", "worker of the worker binary: cold start to ready, in ms", "", "start-ms", "15"},
		{"Start/koan-worker", "worker of the worker binary: private memory, idle, in MB", "", "private-MB", "8"},
		{"Start/pantrypal", "worker of the full binary: cold start to ready, in ms", "", "start-ms", "15"},
		{"Start/pantrypal", "worker of the full binary: private memory, idle, in MB", "", "private-MB", "8"},
	}},
	{"./codemode/internal/sandbox", "Parallel", []row{
		{"Parallel", "ten calls of 50 ms in one Promise.all, confined worker, in ms", "", "ms", "60"},
	}},
	{"./codemode/internal/language/python", "Scripts|Sixteen", []row{
		{"Scripts/trivial", "a trivial script in Python, p50 in ms", "", "p50-ms", "6"},
		{"Scripts/100_calls", "a script of 100 calls in Python, p50 in ms", "", "p50-ms", "12"},
		{"Scripts/numpy", "a script in Python with numpy, p50 in ms", "", "p50-ms", "6"},
		{"Scripts/trivial", "memory of an idle caller's Python (proportional set), in MB", "", "pss-MB", "25"},
		{"Sixteen", "trivial scripts in Python per second, 16 at once", "", "scripts/s", "200"},
	}},
	{"./codemode/internal/language/node", "Warm", []row{
		{"Warm/trivial", "a trivial script in Node, in a process that waits for it, in ms", "", "ms/script", "25"},
		{"Warm/100_calls", "a script of 100 calls in Node, in ms", "", "ms/script", ""},
	}},
	{"./codemode/internal/language/javascript/typegen", "Declarations", []row{
		{"Declarations200", "declarations of 200 entities, in ms", "", "ms", "20"},
	}},
	{"./tests/actions", "Nested", []row{
		{"Nested/go", "20 counts by an action in Go", "the same calls made by the script", "to-direct", ""},
		{"Nested/go", "a nested call of an action in Go, in µs beside its calls", "", "µs/call", ""},
		{"Nested/file", "20 counts by an action in a file, in a worker of its own", "the same calls made by the script", "to-direct", ""},
		{"Nested/file", "a nested call of an action in a file, in µs beside its calls", "", "µs/call", ""},
	}},
	{"./plugins", "Start", []row{
		{"Start/trusted", "plugin: start until it takes calls, as the app's own user, in ms", "", "start-ms", ""},
		{"Start/confined", "plugin: the same in its jail, in ms (goal: 20 more)", "", "start-ms", ""},
	}},
	{"./tests/servers", "Upstream", upstreamRows()},
	{"./tests/rest", "REST", []row{
		{"REST/get/clients=1", "REST: get-by-id, p50", "net/http and prepared database/sql", "ratio", "1.5"},
		{"REST/get/clients=16", "REST: get-by-id, 16 clients, requests per second", "net/http and prepared database/sql", "ratio", "1.5"},
		{"REST/page/clients=1", "REST: 20 rows, p50", "net/http and prepared database/sql", "ratio", "1.5"},
		{"REST/page/clients=16", "REST: 20 rows, 16 clients, requests per second", "net/http and prepared database/sql", "ratio", "1.5"},
		{"RESTRivals/get/clients=1", "REST: get-by-id, p50", "PocketBase", "x-rival", "1"},
		{"RESTRivals/get/clients=16", "REST: get-by-id, 16 clients, p50", "PocketBase", "x-rival", "1"},
		{"RESTRivals/page/clients=1", "REST: 20 rows, p50", "PocketBase", "x-rival", "1"},
		{"RESTRivals/page/clients=16", "REST: 20 rows, 16 clients, p50", "PocketBase", "x-rival", "1"},
	}},
	{"./tests/rest", "Writes", writeRows()},
	{"./tests/tokens", "FirstList", []row{
		{"FirstList/4", "the first tools/list of an app of 4 entities, in ms", "", "ms", ""},
		{"FirstList/50", "the same with 50 entities, in ms", "", "ms", ""},
		{"FirstList/200", "the same with 200 entities, in ms", "", "ms", "30"},
	}},
	{"./codemode/internal/language/javascript", "PrepareBound", []row{
		{"PrepareBound/4", "what a script runs in, of an app of 4 entities, in µs", "", "µs", ""},
		{"PrepareBound/200", "the same of 200 entities, in µs", "", "µs", ""},
	}},
	{"./tests/servers", "ThousandTools", []row{
		{"ThousandToolsSearch", "gateway over 1,000 tools: search, in ms", "", "ms", "5"},
		{"ThousandToolsStart", "gateway over 1,000 tools: start to the answer of tools/list, lists on the disk, in ms", "", "p50-ms", "300"},
	}},
	{"./framework/catalog", "Search", []row{
		{"Search2000", "search over 2,000 operations, in ms", "", "ms", "5"},
		{"SearchIndex2000", "the first search of a view of 2,000 operations, in ms", "", "ms", ""},
	}},
	{"./tests/calls", "Call", callRows()},
}

// writeRows are the rows of what clients write on both databases.
func writeRows() (rows []row) {
	for _, db := range []string{"SQLite", "PostgreSQL"} {
		for _, w := range []struct{ name, raw, goal string }{{"create", "INSERT of a row", "0.6"}, {"patch", "UPDATE of a row", "0.7"}} {
			for _, clients := range []int{1, 4, 16, 64} {
				name, by := fmt.Sprintf("Writes/%s/%s/clients=%d", db, w.name, clients), fmt.Sprintf("REST: %s on %s by %d clients", w.name, db, clients)
				rows = append(rows,
					row{name, by + ", part of the raw statements per second", w.raw, "of-raw", w.goal},
					row{name, by + ", per second", "", "rows/s", ""},
					row{name, by + ", computing time of one in ms", "", "cpu-ms", ""},
				)
			}
		}
	}
	return rows
}

// upstreamRows are what calls of another server cost by a script.
func upstreamRows() []row {
	const same = "the same calls by the same client library"
	var rows []row
	for _, calls := range []struct{ key, name string }{
		{"1", "a call of echo"},
		{"10", "10 calls of echo"},
		{"100", "100 calls of echo"},
		{"100_in_parallel", "100 calls of echo in parallel"},
		{"100_slow_in_parallel", "100 calls of 100 ms each in parallel"},
	} {
		bench, what := "Upstream/"+calls.key, "npm's server-everything, a script of "+calls.name+": "
		rows = append(rows, row{bench, what + "p50 in ms", "", "p50-ms", ""}, row{bench, what + "p95 in ms", "", "p95-ms", ""},
			row{bench, what + "p50 less 1 ms", same, "ratio-less-1ms", "1.3"})
	}
	return rows
}

// callRows are what a tools/call costs from the outside, by transport and by how
// many clients call at once.
func callRows() []row {
	const bare, reading = "a bare tool of mcp-go that gives the same", "one that reads the same, prepared database/sql"
	var rows []row
	for _, transport := range []struct{ key, name string }{{"stdio", "stdio"}, {"http", "HTTP"}, {"http2026", "HTTP of 2026-07-28"}} {
		for _, op := range []struct{ key, name, goal string }{{"read", "get-by-id", "1.3"}, {"script", "a trivial script", ""}} {
			for _, clients := range []string{"1", "16"} {
				bench := "Call/" + transport.key + "/" + op.key + "/" + clients
				what := "tools/call of " + op.name + " over " + transport.name + ", " + clients + " at once: "
				rows = append(rows, row{bench, what + "p50", bare, "to-raw", op.goal}, row{bench, what + "p99", bare, "p99-to-raw", op.goal},
					row{bench, what + "CPU of the server", bare, "cpu-to-raw", ""})
				if op.key == "read" {
					rows = append(rows, row{bench, what + "p50", reading, "to-reading", ""}, row{bench, what + "p99", reading, "p99-to-reading", ""})
				}
			}
		}
	}
	return rows
}

func main() {
	time := flag.String("benchtime", "1s", "how long each benchmark runs")
	app := flag.String("app", "bin/pantrypal", "the app whose start is measured; the worker binary stands beside it")
	only := flag.String("only", "", "only the packages whose path has this in it, and no processes; \"processes\", \"rivals\" (other systems that run scripts) and \"hundred\" (the app of 100 entities) stand alone")
	cold := flag.Bool("cold", false, "build the app of 100 entities with an empty cache, too")
	flag.Parse()
	if err := run(*time, *app, *only, *cold); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(benchtime, app, only string, cold bool) error {
	w := tabwriter.NewWriter(os.Stdout, 2, 4, 2, ' ', 0)
	fmt.Fprintln(w, "what\tµs/op\traw µs\tratio\tgoal\tagainst")
	for _, s := range suites {
		if !strings.Contains(s.pkg, only) {
			continue
		}
		fmt.Fprintf(os.Stderr, "measuring %s ...\n", s.pkg)
		figures, err := measure(s, benchtime, app)
		if err != nil {
			return err
		}
		for _, r := range s.rows {
			f, ok := figures[r.bench]
			if !ok {
				return fmt.Errorf("%s has no Benchmark%s", s.pkg, r.bench)
			}
			ratio, ok := f[r.metric]
			if !ok {
				return fmt.Errorf("%s: Benchmark%s reports no %s", s.pkg, r.bench, r.metric)
			}
			own, raw := f.pair(r.metric, ratio)
			fmt.Fprintf(w, "%s\t%s\t%s\t%.2f\t%s\t%s\n", r.what, own, raw, ratio, r.goal, r.against)
		}
	}
	var whole []figure
	if only == "" || only == "processes" {
		fmt.Fprintln(os.Stderr, "measuring processes ...")
		of, err := processes(app)
		if err != nil {
			return err
		}
		whole = of
	}
	if only == "" || only == "rivals" {
		fmt.Fprintln(os.Stderr, "measuring other systems ...")
		whole = append(whole, rivals()...)
	}
	if only == "" || only == "hundred" {
		fmt.Fprintln(os.Stderr, "measuring an app of 100 entities ...")
		large, err := hundred(cold)
		if err != nil {
			return err
		}
		whole = append(whole, large...)
	}
	for _, p := range whole {
		fmt.Fprintf(w, "%s\t\t\t%s\t%s\t\n", p.what, p.figure, p.goal)
	}
	return w.Flush()
}

// figures are one benchmark's metrics by unit.
type figures map[string]float64

// pair returns the engine's and the raw figure in microseconds, from whichever
// units the benchmark reports.
func (f figures) pair(metric string, ratio float64) (own, raw string) {
	switch {
	case metric == "p99-ratio":
		return micros(f["raw-p99-µs"] * ratio), micros(f["raw-p99-µs"])
	case strings.HasSuffix(metric, "cpu-ratio"):
		return micros(f["raw-cpu-µs"] * ratio), micros(f["raw-cpu-µs"])
	case f["raw-ns/op"] > 0:
		return micros(f["raw-ns/op"] * ratio / 1000), micros(f["raw-ns/op"] / 1000)
	case f["inprocess-ms"] > 0:
		return micros(f["confined-ms"] * 1000), micros(f["inprocess-ms"] * 1000)
	case f["idle-ms"] > 0:
		return micros(f["flooded-ms"] * 1000), micros(f["idle-ms"] * 1000)
	case f["raw-µs"] > 0:
		return micros(f["raw-µs"] * ratio), micros(f["raw-µs"])
	}
	if f["ns/op"] == 0 {
		return "", ""
	}
	return micros(f["ns/op"] / 1000), ""
}

func micros(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

var line = regexp.MustCompile(`^Benchmark(\S+?)(?:-\d+)?\s+\d+\s+(.*)$`)

// stampFlag makes a benchmark's host one for the worker binary, which carries the
// same stamp (Makefile).
func stampFlag() string {
	build := worker.Build()
	return "-ldflags=-X=github.com/koan-go/koan/codemode/worker.stamp=" + build[strings.LastIndex(build, " ")+1:]
}

// measure runs a suite and reads its figures. Its test binary stands beside the app
// and the worker binary, as an app does, and is of the same build.
func measure(s suite, benchtime, app string) (map[string]figures, error) {
	binary, err := filepath.Abs(filepath.Join(filepath.Dir(app), "bench.test"))
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "test", "-c", "-o", binary)
	if worker.Stamped() {
		build.Args = append(build.Args, stampFlag())
	}
	build.Args = append(build.Args, s.pkg)
	if text, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", s.pkg, err, text)
	}
	defer os.Remove(binary)
	var out bytes.Buffer
	cmd := exec.Command(binary, "-test.run", "^$", "-test.bench", s.bench, "-test.benchtime", benchtime)
	cmd.Dir, cmd.Stdout, cmd.Stderr = s.pkg, &out, &out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("%s: %w\n%s", s.pkg, err, out.String())
	}
	found := map[string]figures{}
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		m := line.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		f := figures{}
		fields := strings.Fields(m[2])
		for i := 0; i+1 < len(fields); i += 2 {
			v, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return nil, fmt.Errorf("%s: %q: %w", s.pkg, lines.Text(), err)
			}
			f[fields[i+1]] = v
		}
		found[m[1]] = f
	}
	return found, nil
}

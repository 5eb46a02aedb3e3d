package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/store"
	"github.com/koan-go/koan/tests/pgtest"
	"github.com/koan-go/koan/tests/workbench/office"
	"github.com/koan-go/koan/tests/workbench/seed"
)

// cases is how many requests are made up for each template.
const cases = 15

// request is one line of the data set's requests.
type request struct {
	Script  string            `json:"script"`
	Query   string            `json:"query"`
	Args    map[string]string `json:"args"`
	Actions []string          `json:"actions"`
}

func requests(t testing.TB) []request {
	t.Helper()
	out := readRequests(t, "testdata/tasks.jsonl")
	require.Len(t, out, 345)
	return out
}

func readRequests(t testing.TB, path string) []request {
	t.Helper()
	f, err := os.Open(path)
	require.NoError(t, err)
	defer f.Close()
	var out []request
	in := bufio.NewScanner(f)
	in.Buffer(nil, 1<<20)
	for in.Scan() {
		var r request
		require.NoError(t, json.Unmarshal(in.Bytes(), &r))
		out = append(out, r)
	}
	require.NoError(t, in.Err())
	return out
}

// script returns the text of a template's script.
func script(t testing.TB, name string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("scripts", name+".js"))
	require.NoError(t, err)
	return string(b)
}

// open starts the app with the tables of a folder, on the database of the test, with scripts in worker processes.
func open(t testing.TB, folder string, settings ...koantest.Setting) *koantest.Kit {
	t.Helper()
	settings = append(settings, koantest.Setting{Key: seed.Key, Value: folder})
	if pgtest.Here(t) {
		settings = append(settings, koantest.Setting{Key: "database", Value: pgtest.Place(t)})
	}
	return koantest.NewConfined(t, office.App(), settings...)
}

// dryRun runs a script and returns its changes.
func dryRun(t testing.TB, kit *koantest.Kit, code string, args any) ([]change, *koantest.Result) {
	t.Helper()
	return dryRunIn(t, kit, "javascript", code, args)
}

func dryRunIn(t testing.TB, kit *koantest.Kit, language, code string, args any) ([]change, *koantest.Result) {
	t.Helper()
	r := kit.Try(code, koantest.Input{Args: args, Language: language, DryRun: true, Include: []string{"calls"}})
	if !r.Success {
		require.Fail(t, "the script failed", "line %d: %v\n%s\nargs %v", r.Error.Line, r.Error, r.Error.Hint, args)
	}
	out := make([]change, len(r.Changes))
	for i := range r.Changes {
		out[i] = observed(t, &r.Changes[i])
	}
	return out, r
}

// observed is a recorded change as the tests compare it. An update to what was there before
// has no fields.
func observed(t testing.TB, c *store.Change) change {
	t.Helper()
	var before, after map[string]any
	if c.Before != nil {
		require.NoError(t, json.Unmarshal(c.Before, &before))
	}
	if c.After != nil {
		require.NoError(t, json.Unmarshal(c.After, &after))
	}
	switch fmt.Sprint(c.Action) {
	case "delete":
		return deleted(c.Entity, c.ID)
	case "create":
		delete(after, "id")
		maps.DeleteFunc(after, func(_ string, v any) bool { return v == nil })
		return created(c.Entity, after)
	}
	maps.DeleteFunc(after, func(k string, v any) bool { return v == before[k] })
	return change{Entity: c.Entity, Action: "update", ID: c.ID, Fields: after}
}

// Each template has a script, and koan.code.validate finds nothing wrong with it.
func TestScripts(t *testing.T) {
	t.Parallel()
	kit := open(t, tables)
	var wanted []string
	for _, tm := range templates(t) {
		wanted = append(wanted, "scripts/"+tm.Script+".js")
		out, err := kit.Call(catalog.CodeID("koan", "validate").String(), map[string]any{"code": script(t, tm.Script)})
		require.NoError(t, err)
		require.JSONEq(t, `{"valid":true}`, string(out), tm.Script)
	}
	have, err := filepath.Glob("scripts/*.js")
	require.NoError(t, err)
	require.ElementsMatch(t, wanted, have)
}

// No script knows a row: neither ids nor addresses, nor anybody's name.
func TestScriptsNameNoRow(t *testing.T) {
	t.Parallel()
	o := readOffice(t, tables)
	rows := slices.Clone(o.directory)
	for _, c := range o.customers {
		rows = append(rows, c.id, c.name)
	}
	for _, m := range o.mails {
		rows = append(rows, m.id, m.subject, m.body)
	}
	for _, e := range o.events {
		rows = append(rows, e.id, e.name)
	}
	for _, r := range requests(t) {
		text := script(t, r.Script)
		require.NotContains(t, text, "2023", r.Script)
		_, text, _ = strings.Cut(text, "\nconst ") // the template, and what it is about
		for _, row := range rows {
			require.NotContains(t, text, row, r.Script)
		}
	}
}

// Every request is met: one script, one run, exactly the changes that the data set says.
func TestRequests(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRequests) {
		return
	}
	o, kit := readOffice(t, tables), open(t, tables)
	before := digest(t, kit)
	type tally struct {
		requests, calls, nothing int
		took                     time.Duration
	}
	domains := map[string]*tally{}
	for i, r := range requests(t) {
		expected := o.expected(t, r)
		code, started := script(t, r.Script), time.Now()
		got, result := dryRun(t, kit, code, r.Args)
		domain, _, _ := strings.Cut(r.Script, "-")
		if domains[domain] == nil {
			domains[domain] = &tally{}
		}
		d := domains[domain]
		d.requests, d.calls, d.took = d.requests+1, d.calls+len(result.Calls), d.took+time.Since(started)
		if len(r.Actions) == 0 {
			d.nothing++
		}
		if !slices.Equal(lines(t, expected), lines(t, got)) {
			t.Errorf("request %d, %s: %s\nargs %v\nexpected %s\ngot      %s\nanswer %s", i, r.Script, r.Query, r.Args,
				strings.Join(lines(t, expected), "\n         "), strings.Join(lines(t, got), "\n         "), result.Answer)
		}
	}
	require.Equal(t, before, digest(t, kit), "dry runs change nothing")
	for _, name := range slices.Sorted(maps.Keys(domains)) {
		d := domains[name]
		t.Logf("%-10s %3d requests, %2d to change nothing, %.1f calls and %.1f ms each", name, d.requests, d.nothing,
			float64(d.calls)/float64(d.requests), d.took.Seconds()*1000/float64(d.requests))
	}
}

// So are requests with values that the data set's do not have, in an office with rows that its
// office does not have. The right changes were worked out by a program that knows the
// templates and the tables, and neither the scripts nor the oracles here.
func TestFurtherRequests(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestFurtherRequests) {
		return
	}
	folder := awkward(t)
	o, kit := readOffice(t, folder), open(t, folder)
	asked := map[string]int{}
	for _, r := range readRequests(t, "testdata/further/requests.jsonl") {
		asked[r.Script]++
		got, result := dryRun(t, kit, script(t, r.Script), r.Args)
		got = slices.DeleteFunc(got, func(c change) bool { return c.Action == "update" && len(c.Fields) == 0 })
		require.Equal(t, lines(t, o.expected(t, r)), lines(t, got), "%s, args %v, answer %s", r.Script, r.Args, result.Answer)
	}
	for _, tm := range templates(t) {
		require.GreaterOrEqual(t, asked[tm.Script], 2, tm.Script)
	}
}

// digest returns how many rows there are, and something about all of their content.
func digest(t testing.TB, kit *koantest.Kit) string {
	t.Helper()
	r := kit.Run(`
		const out = {};
		for (const [name, entity] of Object.entries(SDK.Entities)) {
			let rows = 0, sum = 0;
			for (const row of entity.each()) {
				rows++;
				for (const c of JSON.stringify(row)) sum = (sum * 31 + c.charCodeAt(0)) % 2147483647;
			}
			out[name] = [rows, sum];
		}
		out`, koantest.Input{})
	return string(r.Result)
}

type template struct {
	Script string
	Args   []string
}

func templates(t testing.TB) []template {
	t.Helper()
	b, err := os.ReadFile("testdata/templates.json")
	require.NoError(t, err)
	var out []template
	require.NoError(t, json.Unmarshal(b, &out))
	require.Len(t, out, 69)
	return out
}

// The oracle gives the data set's own answers.
func TestOracle(t *testing.T) {
	t.Parallel()
	o := readOffice(t, tables)
	for _, r := range requests(t) {
		require.Equal(t, lines(t, o.expected(t, r)), lines(t, oracles[r.Script](o, r.Args)), "%s, %v", r.Script, r.Args)
	}
}

// Scripts are not made for the examples: with other names, days and thresholds they do
// what the oracle says, in the data set's office and in one where everything is otherwise.
func TestScriptsAgreeWithTheOracle(t *testing.T) {
	t.Parallel()
	offices := map[string]string{"the data set": tables, "shuffled": shuffled(t, rand.New(rand.NewPCG(16, 5)))}
	for name, folder := range offices {
		t.Run(name, func(t *testing.T) {
			o, kit := readOffice(t, folder), open(t, folder)
			for _, tm := range templates(t) {
				t.Run(tm.Script, func(t *testing.T) { agrees(t, o, kit, tm) })
			}
		})
	}
}

func agrees(t *testing.T, o *world, kit *koantest.Kit, tm template) {
	r := arguments{rand.New(rand.NewPCG(20, 23)), o}
	agreesIn(t, o, kit, tm, "javascript", script(t, tm.Script), r)
}

func agreesIn(t *testing.T, o *world, kit *koantest.Kit, tm template, language, code string, r arguments) {
	idle := 0
	for range cases {
		args := r.of(tm.Script, tm.Args)
		expected := oracles[tm.Script](o, args)
		got, _ := dryRunIn(t, kit, language, code, args)
		require.Equal(t, lines(t, expected), lines(t, got), "args %v", args)
		if len(expected) == 0 {
			idle++
		}
	}
	require.Less(t, idle, cases, "some of the cases change something")
}

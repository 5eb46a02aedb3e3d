package main

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/store"
)

var update = flag.Bool("update", false, "write the golden files anew")

// workflow is one action with what has to be there before.
type workflow struct{ Name, Setup, Input string }

// workflows are those of testdata/workflows.yaml.
func workflows(t *testing.T) []workflow {
	t.Helper()
	raw, err := os.ReadFile("testdata/workflows.yaml")
	require.NoError(t, err)
	var out []workflow
	require.NoError(t, yaml.Unmarshal(raw, &out))
	return out
}

// everything is a script whose result are all rows that a household changes.
const everything = `
	const rows = {};
	for (const e of Object.keys(SDK.Entities)) {
		if (["Food", "FoodPortion", "RecipeIngredient", "Price"].includes(e)) rows[e] = SDK.Entities[e].count();
		else if (["PantryItem", "PantryEvent", "PlannedMeal"].includes(e)) { // of the year behind, how much it is
			const filter = {PantryItem: {status: "available"}, PantryEvent: {run: {$null: false}}, PlannedMeal: {status: "planned"}}[e];
			rows[e] = [SDK.Entities[e].count(), SDK.Entities[e].all({filter, sort: "id"}).map(({version, ...row}) => row)];
		}
		else rows[e] = SDK.Entities[e].all({sort: "id"}).map(({version, ...row}) => row);
	}
	rows`

// TestWorkflows carries out each action dry, then for real, and undoes it; all over one
// database, which is the same after each.
func TestWorkflows(t *testing.T) {
	t.Parallel()
	k := open(t, koantest.Setting{Key: "journal.enabled", Value: "true"})
	k.sample("haul.png")
	for _, w := range workflows(t) {
		t.Run(w.Name, func(t *testing.T) {
			kitchen{k.Kit, t, k.photos}.try(w)
		})
	}
}

// try carries out an action dry, then for real, and undoes it.
func (k kitchen) try(w workflow) {
	k.t.Helper()
	t := k.t
	untouched := k.state()
	before := json.RawMessage("null")
	var setup string
	if w.Setup != "" {
		r := k.Run(w.Setup, koantest.Input{})
		before, setup = r.Result, r.RunID
	}
	ready := k.state()
	script := `const before = SDK.args; SDK.Out.answer(SDK.Actions["` + camel(w.Name) + `"](` + w.Input + `))`
	dry := k.Run(script, koantest.Input{Args: before, DryRun: true})
	require.Equal(t, ready, k.state(), "a dry run changes nothing")
	r := k.Run(script, koantest.Input{Args: before})
	require.Equal(t, golden(t, dry), golden(t, r), "a dry run says what a run says")
	k.expect(w.Name, r)
	if len(r.ChangeCounts) > 0 {
		require.NotEqual(t, ready, k.state())
		k.undo(r.RunID)
	}
	require.Equal(t, ready, k.state(), "undone")
	if setup != "" && ready != untouched {
		k.undo(setup)
	}
	require.Equal(t, untouched, k.state())
}

// Every action has a golden test.
func TestEveryActionIsTested(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("actions/*.js")
	require.NoError(t, err)
	tested := map[string]bool{"move": true} // between two sets: TestMoveThereAndBack
	for _, w := range workflows(t) {
		tested[w.Name] = true
	}
	for _, f := range files {
		name := filepath.Base(f)
		require.True(t, tested[name[:len(name)-len(".js")]], f)
	}
}

// koan.code.validate finds nothing wrong with the scripts of the sample.
func TestScriptsAreValid(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("scripts/*.js")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	k := open(t)
	for _, f := range files {
		code, err := os.ReadFile(f)
		require.NoError(t, err)
		out, err := k.Call("code::koan.validate", map[string]any{"code": string(code)})
		require.NoError(t, err)
		require.JSONEq(t, `{"valid":true}`, string(out), f)
	}
}

func (k kitchen) state() string {
	k.t.Helper()
	return string(k.Run(everything, koantest.Input{}).Result)
}

// undo undoes a run, and returns the run that did.
func (k kitchen) undo(run string) (by string) {
	k.t.Helper()
	out, err := k.Call("code::koan.undo", map[string]any{"runId": run})
	require.NoError(k.t, err)
	var reply struct{ RunID string }
	require.NoError(k.t, json.Unmarshal(out, &reply), "%s", out)
	return reply.RunID
}

// goldenRun is what a golden file has of a run.
type goldenRun struct {
	Answer  any                 `json:"answer"`
	Changes []store.ChangeCount `json:"changes"`
}

var ids = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)

func golden(t *testing.T, r *koantest.Result) string {
	t.Helper()
	var answer any
	require.NoError(t, json.Unmarshal(ids.ReplaceAll(r.Answer, []byte("<id>")), &answer))
	return indented(t, goldenRun{answer, r.ChangeCounts})
}

func indented(t *testing.T, v any) string {
	t.Helper()
	out, err := json.MarshalIndent(v, "", "  ")
	require.NoError(t, err)
	return string(out) + "\n"
}

func (k kitchen) expect(name string, r *koantest.Result) {
	k.t.Helper()
	k.expectText(name, golden(k.t, r))
}

func (k kitchen) expectText(name, got string) {
	k.t.Helper()
	file := filepath.Join("testdata", "actions", name+".golden")
	if *update {
		require.NoError(k.t, os.MkdirAll(filepath.Dir(file), 0o755))
		require.NoError(k.t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(k.t, err, "run with -update")
	require.Equal(k.t, string(want), got)
}

// camel is an action's name in scripts.
func camel(name string) string {
	return regexp.MustCompile(`-[a-z]`).ReplaceAllStringFunc(name, func(s string) string { return string(s[1] - 'a' + 'A') })
}

package main

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/tests/needs"
	"github.com/koan-go/koan/tests/programs"
	"github.com/koan-go/koan/tests/soak"
)

const sample = "../../sample-pantrypal"

// open starts PantryPal with its plugin.
func open(t testing.TB) (counter, *framework.Instance) {
	t.Helper()
	dir := vision(t)
	c, err := newCounter()
	require.NoError(t, err)
	app, stop, err := pantrypal(dir, sample, javaScript)
	require.NoError(t, err)
	t.Cleanup(stop)
	return c, app
}

// vision builds PantryPal's plugin, and returns its folder.
func vision(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	require.NoError(t, programs.Build(dir, map[string]string{"vision": "plugins/vision"}))
	return dir
}

// documented are the rows of docs/reference/tokens.md whose first cell is accepted by is:
// their cells.
func documented(t *testing.T, is func(first string) bool) map[string][]string {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/tokens.md")
	require.NoError(t, err)
	out := map[string][]string{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), "|")
		if len(cells) < 4 || !is(strings.TrimSpace(cells[1])) {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		out[cells[1]] = cells[2:]
	}
	return out
}

func figure(t *testing.T, cell string) int {
	t.Helper()
	n, err := strconv.Atoi(strings.ReplaceAll(cell, ",", ""))
	require.NoError(t, err, cell)
	return n
}

// What every client reads with every conversation does not grow unseen: more than
// the page says by a twentieth, and somebody has to look and run `make tokens`.
func TestDefinitionSizes(t *testing.T) {
	t.Parallel()
	c, app := open(t)
	needs.Program(t, "python3")
	told := documented(t, func(first string) bool { _, err := strconv.Atoi(first); return err == nil })
	require.Len(t, told, len(sizes))
	got, err := definitions(c, app.Snapshot(), []int{3, 12}, listings)
	require.NoError(t, err)
	large, err := definitions(c, app.Snapshot(), []int{50, 200}, []listing{generic, full, code})
	require.NoError(t, err)
	all := append(got, large...)
	require.NoError(t, addPython(c, all, vision(t), sample))
	for _, d := range all {
		for i, l := range listings {
			if n, ok := d.tokens[l]; ok {
				require.LessOrEqual(t, n, figure(t, told[strconv.Itoa(d.entities)][i])*21/20, "%d entities, %s: if this must be, run `make tokens`", d.entities, l.name)
			}
		}
		require.NotZero(t, d.python)
		require.LessOrEqual(t, d.python, figure(t, told[strconv.Itoa(d.entities)][len(listings)])*21/20, "%d entities, in Python: if this must be, run `make tokens`", d.entities)
		require.LessOrEqual(t, d.tokens[generic], 3300, "%d entities: however many there are", d.entities)
		require.LessOrEqual(t, d.tokens[full], 9000, "%d entities, for an unknown client", d.entities)
	}
	require.Less(t, large[1].tokens[code], 1500, "200 entities in code mode")
}

// One entity's thirteen tools cost little: its fields are declared once.
func TestEntityToolSizes(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	c, app := open(t)
	got, err := own(c, app)
	require.NoError(t, err)
	require.Equal(t, 13, got[1].tools)
	require.LessOrEqual(t, got[1].list, 2200)
}

// The page compares with the lists that are kept, and with what is listed now.
func TestBaselinesMatchDocumentation(t *testing.T) {
	t.Parallel()
	c, app := open(t)
	got, err := baselines(c, app, "testdata/baselines")
	require.NoError(t, err)
	told := documented(t, func(first string) bool {
		return strings.Contains(first, "mcp") || strings.Contains(first, "/") || strings.HasPrefix(first, "Koan, ")
	})
	require.Len(t, told, len(got))
	require.Len(t, does, len(got)-3)
	for _, b := range got {
		cells := told[b.name]
		require.NotEmpty(t, cells, b.name)
		require.Equal(t, b.version, cells[0])
		require.NotEmpty(t, cells[4], b.name)
		require.InEpsilon(t, b.list, figure(t, cells[2]), 0.05, "%s: run `make tokens`", b.name)
	}
}

// A script costs a small part of the calls that it stands for, also where these are
// made with the tools that cost least.
func TestScriptsAreCheap(t *testing.T) {
	t.Parallel()
	c, app := open(t)
	talks, err := workflows(c, app, sample)
	require.NoError(t, err)
	require.NotEmpty(t, talks)
	for _, w := range talks {
		require.Greater(t, w.calls, 1, w.script)
		require.LessOrEqual(t, w.code.total()*100, min(w.tools.total(), w.each.total())*40, fmt.Sprintf("%+v", w))
	}
}

func TestFormatThousands(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
}

// What a workflow costs by name is a small part of what its calls cost one by one; these are
// really made, and leave the same.
func TestWorkflowsAreCheap(t *testing.T) {
	soak.Proof(t)
	t.Parallel()
	c, err := newCounter()
	require.NoError(t, err)
	done, err := errands(c, vision(t), sample, "haul", "shop")
	require.NoError(t, err)
	require.Len(t, done, 2)
	for _, e := range done {
		require.Greater(t, e.single.calls, 5, e.task)
		require.Less(t, e.action.total(), e.single.total(), e.task)
		require.Less(t, e.script.total(), e.single.total(), e.task)
		require.Less(t, (e.action.arguments+e.action.results)*8, e.single.arguments+e.single.results, e.task)
	}
}

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/exposure"
)

const sample = "../../sample-pantrypal"

// open starts PantryPal with its plugin.
func open(t *testing.T) (counter, *framework.Instance) {
	t.Helper()
	dir := t.TempDir()
	said, err := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "vision"), "../../plugins/vision").CombinedOutput()
	require.NoError(t, err, "%s", said)
	c, err := newCounter()
	require.NoError(t, err)
	app, stop, err := pantrypal(dir, sample)
	require.NoError(t, err)
	t.Cleanup(stop)
	return c, app
}

// documented are the figures of docs/reference/tokens.md, by entities and column.
func documented(t *testing.T) map[int][]int {
	t.Helper()
	page, err := os.ReadFile("../../docs/reference/tokens.md")
	require.NoError(t, err)
	out := map[int][]int{}
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, "|")
		n, err := strconv.Atoi(strings.TrimSpace(cells[min(1, len(cells)-1)]))
		if err != nil || len(cells) < 6 {
			continue
		}
		for _, cell := range cells[2:5] {
			v, err := strconv.Atoi(strings.ReplaceAll(strings.TrimSpace(cell), ",", ""))
			require.NoError(t, err, line)
			out[n] = append(out[n], v)
		}
	}
	require.Len(t, out, len(sizes))
	return out
}

// What every client reads with every conversation does not grow unseen: more than
// the page says by a twentieth, and somebody has to look and run `make tokens`.
func TestDefinitionsStaySmall(t *testing.T) {
	c, app := open(t)
	told := documented(t)
	got, err := definitions(c, app.Snapshot(), []int{3, 12}, modes)
	require.NoError(t, err)
	large, err := definitions(c, app.Snapshot(), []int{50, 200}, []exposure.Mode{exposure.Code})
	require.NoError(t, err)
	for _, d := range append(got, large...) {
		for i, mode := range modes {
			if n, ok := d.tokens[mode]; ok {
				require.LessOrEqual(t, n, told[d.entities][i]*21/20, "%d entities in mode %s: if this must be, run `make tokens`", d.entities, mode)
			}
		}
	}
	require.Less(t, large[1].tokens[exposure.Code], 1500, "200 entities in code mode")
}

// A script costs at most 15 % of the calls that it stands for.
func TestScriptsAreCheap(t *testing.T) {
	c, app := open(t)
	talks, err := workflows(c, app, sample)
	require.NoError(t, err)
	require.NotEmpty(t, talks)
	for _, w := range talks {
		require.Greater(t, w.calls, 1, w.script)
		require.LessOrEqual(t, w.code.total()*100, w.tools.total()*15, fmt.Sprintf("%+v", w))
	}
}

func TestThousands(t *testing.T) {
	for n, want := range map[int]string{0: "0", 999: "999", 1000: "1,000", 1234567: "1,234,567"} {
		require.Equal(t, want, thousands(n))
	}
}

// Package codemode keeps the table of what codemode-run-spec demands (musts.md)
// true: every row names tests that exist, or the issue that it waits for.
package codemode

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// demands is how many lines of the text have the word MUST.
const demands = 95

var name = regexp.MustCompile(`^([a-z0-9/]+)\.(Test\w+)(?:/(.+))?$`)

// TestContractTable reads the table.
func TestContractTable(t *testing.T) {
	t.Parallel()
	raw, err := os.ReadFile("musts.md")
	require.NoError(t, err)
	rows := 0
	for line := range strings.Lines(string(raw)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), "|")
		if len(cells) != 3 || cells[0] == "---" || strings.TrimSpace(cells[0]) == "section" {
			continue
		}
		rows++
		what := strings.TrimSpace(cells[1])
		require.Regexp(t, `^\d+(\.\d+)*$`, strings.TrimSpace(cells[0]), what)
		named := split(strings.TrimSpace(cells[2]))
		require.NotEmpty(t, named, "%s: no test", what)
		for _, n := range named {
			m := name.FindStringSubmatch(n)
			require.NotNil(t, m, "%s: %q names no test", what, n)
			require.True(t, exists(t, m[1], m[2], m[3]), "%s: there is no test %s", what, n)
		}
	}
	require.Equal(t, demands, rows, "a row for each demand")
}

// split parts the names in a cell: one begins where a package does.
func split(cell string) []string {
	var out []string
	for _, word := range strings.Fields(cell) {
		if strings.Contains(word, ".Test") || len(out) == 0 {
			out = append(out, word)
			continue
		}
		out[len(out)-1] += " " + word // the name of a case has blanks
	}
	return out
}

// exists looks for a test function in a package of the repository, and for the
// case's name among the strings of its file.
func exists(t *testing.T, pkg, test, sub string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", "..", filepath.FromSlash(pkg), "*_test.go"))
	require.NoError(t, err)
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		require.NoError(t, err)
		for _, d := range tree.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if ok && fn.Recv == nil && fn.Name.Name == test && (sub == "" || mentions(fn, sub)) {
				return true
			}
		}
	}
	return false
}

func mentions(node ast.Node, text string) bool {
	found := false
	ast.Inspect(node, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			found = found || err == nil && s == text
		}
		return !found
	})
	return found
}

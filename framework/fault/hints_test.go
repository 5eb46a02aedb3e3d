package fault_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

var (
	// sameAgain is a hint that says to repeat the call as it is.
	sameAgain = regexp.MustCompile(`(?i)^(try|call|run it|start it|send it|ask) again\b`)
	// later is a hint by which the same call may succeed another time.
	later = regexp.MustCompile(`(?i)\b(again|wait|repeat)\b`)
)

// A caller that reads the hint and one that reads the retry class do the same.
func TestHintsAgreeWithRetry(t *testing.T) {
	for _, e := range fault.Entries() {
		switch e.Retry {
		case fault.Safe:
			require.Regexp(t, later, e.Hint, "%s may be tried again, and its hint says nothing of it", e.Code)
		case fault.Fix, fault.Never:
			require.NotRegexp(t, sameAgain, e.Hint, "%s is %s", e.Code, e.Retry)
		}
	}
	uses := hintsOf(t)
	require.Greater(t, len(uses), 80)
	for _, u := range uses {
		if sameAgain.MatchString(u.hint) {
			require.Equal(t, "Safe", u.retry, "%s: %q", u.at, u.hint)
		}
		if u.retry == "Safe" && u.code == "Conflict" {
			require.Regexp(t, later, u.hint, "%s: the hint of a conflict that cannot be tried again needs WithRetry(fault.Fix)", u.at)
		}
	}
}

// hintUse is one call of WithHint with a literal text.
type hintUse struct{ at, code, hint, retry string }

// hintsOf reads the sources for how faults are made, from their constructor on.
func hintsOf(t *testing.T) []hintUse {
	t.Helper()
	retries := map[string]string{} // by the name of the code's constant
	names := map[string]string{"safe": "Safe", "fix": "Fix", "never": "Never"}
	constants := constantsOf(t)
	for name, code := range constants {
		e, ok := fault.Lookup(fault.Code(code))
		require.True(t, ok, code)
		retries[name] = names[string(e.Retry)]
	}
	var out []hintUse
	root := filepath.Join("..", "..")
	require.NoError(t, filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || d.Name() == "ent") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		fset := token.NewFileSet()
		file, err := parser.ParseFile(fset, path, nil, 0)
		if err != nil {
			return err
		}
		inner, makers := map[ast.Expr]bool{}, makersOf(file) // receivers of a longer chain
		ast.Inspect(file, func(n ast.Node) bool {
			if c, ok := n.(*ast.CallExpr); ok {
				if sel, ok := c.Fun.(*ast.SelectorExpr); ok && !inner[c] {
					if u, ok := readChain(c, sel, inner, makers); ok {
						if u.retry == "" {
							u.retry = retries[u.code]
						}
						u.at = fset.Position(c.Pos()).String()
						out = append(out, u)
					}
				}
			}
			return true
		})
		return nil
	}))
	return out
}

// readChain reads fault.New(fault.Code, ...).WithHint("...").WithRetry(...).
func readChain(c *ast.CallExpr, sel *ast.SelectorExpr, inner map[ast.Expr]bool, makers map[string]string) (u hintUse, ok bool) {
	for {
		if len(c.Args) == 0 {
			return u, ok
		}
		switch sel.Sel.Name {
		case "WithHint":
			if lit, isText := c.Args[0].(*ast.BasicLit); isText {
				u.hint, _ = strconv.Unquote(lit.Value)
				ok = u.hint != "%s"
			}
		case "WithRetry":
			if v, isName := c.Args[0].(*ast.SelectorExpr); isName {
				u.retry = v.Sel.Name
			}
		case "New", "Newf":
			if code, isName := c.Args[0].(*ast.SelectorExpr); isName {
				u.code = code.Sel.Name
			}
			return u, ok
		}
		next, isCall := sel.X.(*ast.CallExpr)
		if !isCall {
			return u, ok
		}
		inner[next] = true
		nextSel, isSel := next.Fun.(*ast.SelectorExpr)
		if !isSel {
			if own, isName := next.Fun.(*ast.Ident); isName {
				u.code = makers[own.Name]
			}
			return u, ok
		}
		c, sel = next, nextSel
	}
}

// makersOf are the functions of a file that do nothing but make a fault, and its code.
func makersOf(file *ast.File) map[string]string {
	out := map[string]string{}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Body == nil || len(f.Body.List) != 1 {
			continue
		}
		ast.Inspect(f.Body, func(n ast.Node) bool {
			c, ok := n.(*ast.CallExpr)
			if !ok || len(c.Args) == 0 {
				return true
			}
			sel, isSel := c.Fun.(*ast.SelectorExpr)
			code, isName := c.Args[0].(*ast.SelectorExpr)
			if isSel && isName && (sel.Sel.Name == "New" || sel.Sel.Name == "Newf") {
				out[f.Name.Name] = code.Sel.Name
			}
			return true
		})
	}
	return out
}

// constantsOf reads the names of the codes.
func constantsOf(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile("registry.go")
	require.NoError(t, err)
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+) +Code = "(\w+)"`).FindAllStringSubmatch(string(text), -1) {
		out[m[1]] = m[2]
	}
	require.Len(t, out, len(fault.Entries()))
	return out
}

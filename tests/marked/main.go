// Command marked prints a regular expression of the tests in folders that begin with a mark, as go test
// takes it for -run and -skip:
//
//	marked race.Detect DIR...
//
// It fails where none is marked, where a mark is not the first statement of a test, and where a test
// that is not marked has the name of one that is: go test would take both.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

func main() {
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: marked PACKAGE.FUNCTION DIR...")
		os.Exit(2)
	}
	names, err := marked(os.Args[1], os.Args[2:])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Printf("^(%s)$\n", strings.Join(names, "|"))
}

// marked returns the names of the tests in folders that begin with the mark.
func marked(mark string, dirs []string) (names []string, err error) {
	plain := map[string]string{} // the folder of a test that is not marked, by its name
	for _, dir := range dirs {
		tests, err := testsOf(dir, mark)
		if err != nil {
			return nil, err
		}
		for name, is := range tests {
			if is {
				names = append(names, name)
			} else {
				plain[name] = dir
			}
		}
	}
	slices.Sort(names)
	if len(names) == 0 {
		return nil, fmt.Errorf("no test begins with %s", mark)
	}
	for _, name := range names {
		if dir, ok := plain[name]; ok {
			return nil, fmt.Errorf("%s begins with %s, and that in %s does not: rename one of them", name, mark, dir)
		}
	}
	return names, nil
}

// testsOf returns the tests in a folder, and whether each begins with the mark.
func testsOf(dir, mark string) (map[string]bool, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	tests := map[string]bool{}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		marks := 0
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(ast.Stmt); ok && isCall(s, mark) {
				marks++
			}
			return true
		})
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Body == nil || len(f.Body.List) == 0 {
				continue
			}
			tests[f.Name.Name] = isCall(f.Body.List[0], mark)
			if tests[f.Name.Name] {
				marks--
			}
		}
		if marks != 0 {
			return nil, fmt.Errorf("%s: %s is not the first statement of a test", file, mark)
		}
	}
	return tests, nil
}

// isCall reports whether a statement calls a function of a package, such as race.Detect.
func isCall(s ast.Stmt, name string) bool {
	e, ok := s.(*ast.ExprStmt)
	if !ok {
		return false
	}
	call, ok := e.X.(*ast.CallExpr)
	if !ok {
		return false
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	of, ok := f.X.(*ast.Ident)
	return ok && of.Name+"."+f.Sel.Name == name
}

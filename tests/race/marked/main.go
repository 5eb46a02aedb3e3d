// Command marked prints a regular expression of the tests in folders that are marked with race.Detect,
// as go test takes it for -run and -skip. It fails where a folder has none, and where a mark is not the
// first statement of a test.
package main

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

func main() {
	var names []string
	for _, dir := range os.Args[1:] {
		found, err := marked(dir)
		if err == nil && len(found) == 0 {
			err = fmt.Errorf("%s: no test is marked with race.Detect", dir)
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		names = append(names, found...)
	}
	fmt.Printf("^(%s)$\n", strings.Join(names, "|"))
}

// marked returns the names of the tests in a folder that begin with the mark.
func marked(dir string) (names []string, err error) {
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		marks := 0
		ast.Inspect(parsed, func(n ast.Node) bool {
			if s, ok := n.(ast.Stmt); ok && isMark(s) {
				marks++
			}
			return true
		})
		for _, d := range parsed.Decls {
			f, ok := d.(*ast.FuncDecl)
			if !ok || f.Recv != nil || !strings.HasPrefix(f.Name.Name, "Test") || f.Body == nil || len(f.Body.List) == 0 {
				continue
			}
			if isMark(f.Body.List[0]) {
				names, marks = append(names, f.Name.Name), marks-1
			}
		}
		if marks != 0 {
			return nil, fmt.Errorf("%s: race.Detect is not the first statement of a test", file)
		}
	}
	return names, nil
}

// isMark reports whether a statement is race.Detect(t).
func isMark(s ast.Stmt) bool {
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
	return ok && of.Name == "race" && f.Sel.Name == "Detect"
}

package add

import (
	"bytes"
	"go/ast"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
)

var majorVersion = regexp.MustCompile(`^v[0-9]+$`)

// importName is the name that an import has in its file. The name of a package is assumed
// to be the last element of its path.
func importName(s *ast.ImportSpec) string {
	if s.Name != nil {
		return s.Name.Name
	}
	p, _ := strconv.Unquote(s.Path.Value)
	if base := path.Base(p); !majorVersion.MatchString(base) {
		return base
	}
	return path.Base(path.Dir(p))
}

// importedAs returns the name by which a file imports a package, "" if it does not, or
// only for its effects.
func importedAs(f *ast.File, pkg string) string {
	for _, s := range f.Imports {
		if p, err := strconv.Unquote(s.Path.Value); err == nil && p == pkg {
			if name := importName(s); name != "_" && name != "." {
				return name
			}
			if s.Name.Name == "_" && pkg == entgenImport { // tools.go
				return "_"
			}
		}
	}
	return ""
}

// declares reports whether a file declares or imports something of a name.
func declares(f *ast.File, name string) bool {
	if slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return importName(s) == name }) {
		return true
	}
	for _, d := range f.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name == name {
				return true
			}
		case *ast.GenDecl:
			for _, s := range d.Specs {
				if t, ok := s.(*ast.TypeSpec); ok && t.Name.Name == name {
					return true
				}
				if v, ok := s.(*ast.ValueSpec); ok && slices.ContainsFunc(v.Names, func(n *ast.Ident) bool { return n.Name == name }) {
					return true
				}
			}
		}
	}
	return false
}

// imported returns the name of a package in a file, with the edit that imports it
// where none is needed yet: beside another import of the file. free reports whether
// a name can be used.
func imported(tf *token.File, src []byte, f *ast.File, pkg, beside string, free func(string) bool) (string, []edit) {
	if name := importedAs(f, pkg); name != "" && name != "_" {
		return name, nil
	}
	name := path.Base(pkg)
	line := strconv.Quote(pkg)
	for !free(name) {
		name = "koan" + name
		line = name + " " + strconv.Quote(pkg)
	}
	at, first, grouped := f.Name.End(), true, false
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.IMPORT {
			continue
		}
		for _, s := range g.Specs {
			at, first, grouped = s.End(), false, g.Lparen.IsValid()
			if p, _ := strconv.Unquote(s.(*ast.ImportSpec).Path.Value); p == beside {
				return name, []edit{importEdit(src, tf.Offset(at), line, grouped)}
			}
		}
	}
	if first {
		return name, []edit{besideOrBelow(src, tf.Offset(at), "\n", "import "+line)}
	}
	return name, []edit{importEdit(src, tf.Offset(at), line, grouped)}
}

// importEdit puts an import below the one that ends at an offset, as far in as that one.
func importEdit(src []byte, at int, line string, grouped bool) edit {
	if !grouped {
		line = "import " + line
	}
	return besideOrBelow(src, at, indentation(src, at), line)
}

// besideOrBelow puts code below the line that ends at an offset, behind what comes before it there; on that
// line, where more code stands behind the offset.
func besideOrBelow(src []byte, at int, before, code string) edit {
	rest, _, _ := bytes.Cut(src[at:], []byte("\n"))
	if rest = bytes.TrimSpace(rest); len(rest) > 0 && !bytes.HasPrefix(rest, []byte("//")) {
		return edit{at: at, text: "; " + code}
	}
	return linesBelow(src, at, before+code+"\n")
}

// indentation returns the spaces and tabs with which the line of an offset begins.
func indentation(src []byte, at int) string {
	line := src[bytes.LastIndexByte(src[:at], '\n')+1 : at]
	return string(line[:len(line)-len(bytes.TrimLeft(line, " \t"))])
}

// linesBelow puts lines below the one that ends at an offset, save for a comment.
func linesBelow(src []byte, at int, lines string) edit {
	rest, _, found := bytes.Cut(src[at:], []byte("\n"))
	if end := at + len(rest); found && (len(bytes.TrimSpace(rest)) == 0 || bytes.HasPrefix(bytes.TrimSpace(rest), []byte("//"))) {
		return edit{at: end + 1, text: lines}
	}
	return edit{at: at, text: "\n" + lines}
}

// appended is the edit that puts one more element before the end of a list in
// parentheses or braces, whose opening and closing ones are at these places.
func appended(tf *token.File, src []byte, list []ast.Expr, open, end token.Pos, text string) edit {
	at := tf.Offset(end)
	last, from := open+1, tf.Offset(open)+1
	if len(list) == 0 && len(bytes.TrimSpace(src[from:at])) == 0 {
		return edit{at: from, length: at - from, text: text}
	}
	if len(list) > 0 {
		last = list[len(list)-1].End()
	}
	if tf.Line(last) == tf.Line(end) {
		if len(list) == 0 {
			return edit{at: at, text: text}
		}
		return edit{at: tf.Offset(last), text: ", " + text}
	}
	// There is a comma after the last element, and perhaps a comment.
	line := bytes.LastIndexByte(src[:at], '\n') + 1
	if len(bytes.TrimSpace(src[line:at])) > 0 {
		return edit{at: at, text: text}
	}
	in := indentation(src, at) + "\t"
	if len(list) > 0 && tf.Line(last) > tf.Line(open) {
		in = indentation(src, tf.Offset(last))
	}
	return edit{at: line, text: in + text + ",\n"}
}

// generateCall returns the call of entc.Generate in a file, nil if there is none.
func generateCall(f *ast.File) (found *ast.CallExpr) {
	name := importedAs(f, entcImport)
	if name == "" {
		return nil
	}
	ast.Inspect(f, func(n ast.Node) bool {
		if c, ok := n.(*ast.CallExpr); ok && found == nil && selects(c.Fun, name, "Generate") {
			found = c
		}
		return true
	})
	return found
}

// selects reports whether an expression is a name of a package.
func selects(e ast.Expr, pkg string, names ...string) bool {
	s, ok := e.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	x, ok := s.X.(*ast.Ident)
	return ok && x.Name == pkg && slices.Contains(names, s.Sel.Name)
}

// embeds reports whether a file has a struct that embeds a type of a package.
func embeds(f *ast.File, pkg string, names ...string) (found bool) {
	ast.Inspect(f, func(n ast.Node) bool {
		s, ok := n.(*ast.StructType)
		if ok && slices.ContainsFunc(s.Fields.List, func(one *ast.Field) bool { return len(one.Names) == 0 && selects(one.Type, pkg, names...) }) {
			found = true
		}
		return !found
	})
	return found
}

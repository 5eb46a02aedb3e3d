package script

import (
	"errors"
	"strings"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script/pattern"
)

// patternError is a pattern.Error at a place of the parsed text.
type patternError struct {
	why *pattern.Error
	at  file.Position
}

// Error implements error.
func (e *patternError) Error() string { return e.why.Error() }

// compile rewrites the regular expressions of a syntax tree that the engine compiles incorrectly
// and compiles it. The error can be a *patternError.
func (p *attempt) compile(tree *ast.Program) (*goja.Program, error) {
	if err := p.rewritePatterns(tree); err != nil {
		return nil, err
	}
	return goja.CompileAST(tree, false)
}

func (p *attempt) rewritePatterns(tree *ast.Program) error {
	if !mayNeedRewriting(tree.File.Source()) {
		return nil
	}
	var failed error
	Walk(tree.Body, func(n any) bool {
		lit, ok := n.(*ast.RegExpLiteral)
		if !ok || failed != nil {
			return failed == nil
		}
		source, err := pattern.Rewrite(lit.Pattern, lit.Flags)
		var refused *pattern.Error
		switch {
		case errors.As(err, &refused):
			failed = &patternError{refused, tree.File.Position(int(lit.Idx) - tree.File.Base())}
		case source != lit.Pattern:
			if p.Patterns == nil {
				p.Patterns = map[string]string{}
			}
			p.Patterns[source] = lit.Pattern
			lit.Pattern = source
		}
		return true
	})
	return failed
}

// mayNeedRewriting reports whether the text has property escapes, or a slash followed by letters
// that could be flags with d or v.
func mayNeedRewriting(text string) bool {
	if strings.Contains(text, `\p`) || strings.Contains(text, `\P`) {
		return true
	}
	for i := strings.IndexByte(text, '/'); i >= 0; {
		flags := text[i+1:]
		n := 0
		for n < len(flags) && strings.IndexByte("dgimsuvy", flags[n]) >= 0 {
			n++
		}
		if strings.ContainsAny(flags[:n], "dv") && (n == len(flags) || !wordByte(flags[n])) {
			return true
		}
		next := strings.IndexByte(flags, '/')
		if next < 0 {
			return false
		}
		i += 1 + next
	}
	return false
}

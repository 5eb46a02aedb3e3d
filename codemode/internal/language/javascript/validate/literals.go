package validate

import (
	"iter"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
)

// key is a property's name in an object literal.
type key struct {
	name string
	at   file.Idx
}

// term is an expression with its scope.
type term struct {
	ast.Expression
	scope *scope
}

// text is the value of a string literal.
type text struct {
	value string
	at    file.Idx
}

// literals follows the values of expressions as far as they are literals.
type literals struct {
	names   *usage
	visited int // how many literals were visited
}

// look follows a name to its literal, and returns both branches of a condition; any other
// expression is returned itself. It returns nothing once the bound on visited literals is
// reached.
func (l *literals) look(t term) iter.Seq[term] {
	return func(yield func(term) bool) { l.follow(t, maxDepth, yield) }
}

func (l *literals) follow(t term, depth int, yield func(term) bool) bool {
	if l.visited++; l.visited > maxVisited || depth == 0 {
		return false
	}
	switch e := t.Expression.(type) {
	case nil:
		return true
	case *ast.ConditionalExpression:
		return l.follow(term{e.Consequent, t.scope}, depth-1, yield) && l.follow(term{e.Alternate, t.scope}, depth-1, yield)
	case *ast.Identifier:
		v, _ := t.scope.lookup(e.Name.String())
		if v.literal.Expression == nil {
			return yield(t)
		}
		return l.follow(v.literal, depth-1, yield)
	}
	return yield(t)
}

// properties returns the properties of an object literal whose names are known;
// nothing for any other expression.
func (l *literals) properties(t term) iter.Seq2[key, term] {
	return func(yield func(key, term) bool) {
		for one := range l.look(t) {
			obj, ok := one.Expression.(*ast.ObjectLiteral)
			if !ok {
				continue
			}
			for _, p := range obj.Value {
				switch p := p.(type) {
				case *ast.PropertyShort:
					if !yield(key{p.Name.Name.String(), p.Name.Idx}, term{&p.Name, one.scope}) {
						return
					}
				case *ast.PropertyKeyed:
					if name, ok := literalKey(p); ok && !yield(key{name, p.Key.Idx0()}, term{p.Value, one.scope}) {
						return
					}
				}
			}
		}
	}
}

// literalKey returns the name of a property that is not computed.
func literalKey(p *ast.PropertyKeyed) (string, bool) {
	if p.Computed {
		return "", false
	}
	switch k := p.Key.(type) {
	case *ast.StringLiteral:
		return k.Value.String(), true
	case *ast.Identifier:
		return k.Name.String(), true
	}
	return "", false
}

// elements returns the elements of an array literal; ok is false for anything else.
func (l *literals) elements(t term) (out []term, ok bool) {
	for one := range l.look(t) {
		if list, isList := one.Expression.(*ast.ArrayLiteral); isList {
			ok = true
			for _, e := range list.Value {
				out = append(out, term{e, one.scope})
			}
		}
	}
	return out, ok
}

// texts returns a string literal, or those in an array literal.
func (l *literals) texts(t term) iter.Seq[text] {
	return func(yield func(text) bool) {
		list, ok := l.elements(t)
		if !ok {
			list = []term{t}
		}
		for _, one := range list {
			for v := range l.look(one) {
				if value, ok := plainText(v.Expression); ok && !yield(text{value, v.Idx0()}) {
					return
				}
			}
		}
	}
}

// listed returns the names in "a,b" or ["a", "b"], with the place of each literal.
func (l *literals) listed(v term) iter.Seq2[string, file.Idx] {
	return func(yield func(string, file.Idx) bool) {
		for lit := range l.texts(v) {
			for name := range strings.SplitSeq(lit.value, ",") {
				if name = strings.TrimSpace(name); name != "" && !yield(name, lit.at) {
					return
				}
			}
		}
	}
}

// plainText returns the value of a string, or of a template without expressions.
func plainText(e ast.Expression) (string, bool) {
	switch e := e.(type) {
	case *ast.StringLiteral:
		return e.Value.String(), true
	case *ast.TemplateLiteral:
		if e.Tag == nil && len(e.Expressions) == 0 && len(e.Elements) == 1 && e.Elements[0].Valid {
			return e.Elements[0].Parsed.String(), true
		}
	}
	return "", false
}

// isLiteral reports whether look follows names to this expression.
func isLiteral(e ast.Expression) bool {
	switch e.(type) {
	case *ast.ObjectLiteral, *ast.ArrayLiteral, *ast.StringLiteral, *ast.TemplateLiteral, *ast.ConditionalExpression:
		return true
	}
	return false
}

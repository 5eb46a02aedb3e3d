package validate

import (
	"iter"

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

// look follows a name to its literal, and returns both branches of a condition; any other
// expression is returned itself. It returns nothing once the bound on visited literals is
// reached.
func (c *checker) look(t term) iter.Seq[term] {
	return func(yield func(term) bool) { c.follow(t, maxDepth, yield) }
}

func (c *checker) follow(t term, depth int, yield func(term) bool) bool {
	if c.visited++; c.visited > maxVisited || depth == 0 {
		return false
	}
	switch e := t.Expression.(type) {
	case nil:
		return true
	case *ast.ConditionalExpression:
		return c.follow(term{e.Consequent, t.scope}, depth-1, yield) && c.follow(term{e.Alternate, t.scope}, depth-1, yield)
	case *ast.Identifier:
		v, _ := t.scope.lookup(e.Name.String())
		if v.literal.Expression == nil {
			return yield(t)
		}
		return c.follow(v.literal, depth-1, yield)
	}
	return yield(t)
}

// properties returns the properties of an object literal whose names are known;
// nothing for any other expression.
func (c *checker) properties(t term) iter.Seq2[key, term] {
	return func(yield func(key, term) bool) {
		for one := range c.look(t) {
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
func (c *checker) elements(t term) (out []term, ok bool) {
	for one := range c.look(t) {
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
func (c *checker) texts(t term) iter.Seq[text] {
	return func(yield func(text) bool) {
		list, ok := c.elements(t)
		if !ok {
			list = []term{t}
		}
		for _, one := range list {
			for v := range c.look(one) {
				if value, ok := plainText(v.Expression); ok && !yield(text{value, v.Idx0()}) {
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

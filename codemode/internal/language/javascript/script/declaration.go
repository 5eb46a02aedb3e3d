package script

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

const (
	// maxNesting bounds how deep a declaration is nested, maxValues how many values it has.
	maxNesting = 64
	maxValues  = 10_000
)

// Declaration reads what the file of an action declares: a literal, which is never
// executed. The program was compiled with Source.Action. The error is an *Error.
func (p *Program) Declaration() (*wire.Declaration, error) {
	tree, at := p.Tree()
	module, ok := wrapped(tree)
	if !ok {
		return nil, &Error{Message: "the file is not a module"}
	}
	own, run := exported(module, HookAction), exported(module, HookDefault)
	l := &literal{at: at, places: map[string]wire.Place{}}
	switch {
	case own == nil:
		return nil, &Error{Message: "the file exports no `action`", Hint: "Declare it: export const action = { description: \"...\", input: { type: \"object\", properties: {} } };"}
	case run == nil:
		return nil, &Error{Message: "the file has no default export", Hint: "Export the function that does the work: export default (input) => { ... };"}
	}
	value := own
	if name, ok := own.(*ast.Identifier); ok {
		if value = initializer(module, name.Name.String()); value == nil {
			return nil, l.refuse(own, "`action` is not a constant with a value of its own")
		}
	}
	if _, ok := value.(*ast.ObjectLiteral); !ok {
		return nil, l.refuse(value, "`action` is not an object literal")
	}
	if err := l.write(value, "", 0); err != nil {
		return nil, err
	}
	return &wire.Declaration{Action: l.out, Places: l.places}, nil
}

// exported returns what is passed to the hook as an export, nil if there is none.
func exported(module *ast.FunctionLiteral, what int) ast.Expression {
	for _, s := range module.Body.List {
		e, ok := s.(*ast.ExpressionStatement)
		if !ok {
			continue
		}
		c, ok := e.Expression.(*ast.CallExpression)
		if !ok || !is(c.Callee, HookName) || len(c.ArgumentList) != 2 {
			continue
		}
		if n, ok := c.ArgumentList[0].(*ast.NumberLiteral); !ok || n.Value != int64(what) {
			continue
		}
		if u, ok := c.ArgumentList[1].(*ast.UnaryExpression); ok && u.Operator == token.VOID {
			return nil
		}
		return c.ArgumentList[1]
	}
	return nil
}

// initializer returns the value with which a variable of the module is declared, nil if
// there is none.
func initializer(module *ast.FunctionLiteral, name string) (value ast.Expression) {
	look := func(list []*ast.Binding) {
		for _, b := range list {
			if is(b.Target, name) {
				value = b.Initializer
			}
		}
	}
	for _, s := range module.Body.List {
		switch s := s.(type) {
		case *ast.VariableStatement:
			look(s.List)
		case *ast.LexicalDeclaration:
			look(s.List)
		}
	}
	return value
}

// literal writes a literal as JSON.
type literal struct {
	at     func(file.Idx) (line, column int, ok bool)
	out    []byte
	places map[string]wire.Place
	values int
}

const literalHint = "A declaration is read without running the file: write strings, numbers, true, false, null, arrays and objects."

func (l *literal) refuse(node ast.Node, message string) *Error {
	e := &Error{Message: message, Hint: literalHint}
	if node != nil && l.at != nil {
		if line, column, ok := l.at(node.Idx0()); ok {
			e.Line, e.Column = line, column
		}
	}
	return e
}

// write appends a value; path is its JSON Pointer.
func (l *literal) write(node ast.Expression, path string, depth int) error {
	if l.values++; l.values > maxValues {
		return l.refuse(node, fmt.Sprintf("the declaration has more than %d values", maxValues))
	}
	if depth > maxNesting {
		return l.refuse(node, fmt.Sprintf("the declaration is nested more than %d deep", maxNesting))
	}
	if line, column, ok := l.at(node.Idx0()); ok {
		l.places[path] = wire.Place{Line: line, Column: column}
	}
	switch n := node.(type) {
	case *ast.ObjectLiteral:
		return l.object(n, path, depth)
	case *ast.ArrayLiteral:
		return l.array(n, path, depth)
	case *ast.BooleanLiteral:
		l.out = strconv.AppendBool(l.out, n.Value)
		return nil
	case *ast.NullLiteral:
		l.out = append(l.out, "null"...)
		return nil
	case *ast.NumberLiteral:
		return l.number(n, n.Value, false)
	case *ast.UnaryExpression:
		if n.Operator == token.VOID {
			return l.refuse(n, where(path)+" is undefined: leave it out")
		}
		if number, ok := n.Operand.(*ast.NumberLiteral); ok && n.Operator == token.MINUS {
			return l.number(n, number.Value, true)
		}
	}
	if text, ok := l.text(node, 0); ok {
		raw, err := json.Marshal(text)
		if err != nil {
			return err
		}
		l.out = append(l.out, raw...)
		return nil
	}
	return l.refuse(node, where(path)+" is "+kindOf(node)+", and a declaration is a literal")
}

// text returns the value of a string: a literal, a template without expressions, or several
// joined by +.
func (l *literal) text(node ast.Expression, depth int) (string, bool) {
	switch n := node.(type) {
	case *ast.StringLiteral:
		return n.Value.String(), true
	case *ast.TemplateLiteral:
		if n.Tag == nil && len(n.Expressions) == 0 && len(n.Elements) == 1 && n.Elements[0].Valid {
			return n.Elements[0].Parsed.String(), true
		}
	case *ast.BinaryExpression:
		if n.Operator != token.PLUS || depth > maxNesting {
			return "", false
		}
		left, ok := l.text(n.Left, depth+1)
		if !ok {
			return "", false
		}
		right, ok := l.text(n.Right, depth+1)
		return left + right, ok
	}
	return "", false
}

func (l *literal) number(node ast.Node, value any, negative bool) error {
	var f float64
	switch v := value.(type) {
	case int64:
		if negative {
			v = -v
		}
		l.out = strconv.AppendInt(l.out, v, 10)
		return nil
	case float64:
		f = v
	default:
		return l.refuse(node, "a declaration has no big integers")
	}
	if math.IsInf(f, 0) || math.IsNaN(f) {
		return l.refuse(node, "the number is out of range")
	}
	if negative {
		f = -f
	}
	raw, err := json.Marshal(f)
	l.out = append(l.out, raw...)
	return err
}

func (l *literal) object(n *ast.ObjectLiteral, path string, depth int) error {
	seen := map[string]bool{}
	l.out = append(l.out, '{')
	for i, p := range n.Value {
		member, ok := p.(*ast.PropertyKeyed)
		if !ok {
			return l.refuse(p, where(path)+" has "+propertyKind(p)+", and a declaration is a literal")
		}
		name, ok := memberName(member)
		switch {
		case !ok || member.Kind != ast.PropertyKindValue:
			return l.refuse(member, where(path)+" has a computed name, a getter, a setter or a method, and a declaration is a literal")
		case name == "__proto__":
			return l.refuse(member, "`__proto__` cannot be the name of a member")
		case seen[name]:
			return l.refuse(member, "`"+fault.Clip(name, 64)+"` occurs twice")
		}
		seen[name] = true
		if i > 0 {
			l.out = append(l.out, ',')
		}
		raw, err := json.Marshal(name)
		if err != nil {
			return err
		}
		l.out = append(append(l.out, raw...), ':')
		if err := l.write(member.Value, path+"/"+pointerStep.Replace(name), depth+1); err != nil {
			return err
		}
	}
	l.out = append(l.out, '}')
	return nil
}

func (l *literal) array(n *ast.ArrayLiteral, path string, depth int) error {
	l.out = append(l.out, '[')
	for i, item := range n.Value {
		if item == nil {
			return l.refuse(n, where(path)+" has an empty element")
		}
		if i > 0 {
			l.out = append(l.out, ',')
		}
		if err := l.write(item, path+"/"+strconv.Itoa(i), depth+1); err != nil {
			return err
		}
	}
	l.out = append(l.out, ']')
	return nil
}

var pointerStep = strings.NewReplacer("~", "~0", "/", "~1")

// memberName returns the name of a member that is written as a name, a string or a number.
func memberName(p *ast.PropertyKeyed) (string, bool) {
	if p.Computed {
		return "", false
	}
	switch k := p.Key.(type) {
	case *ast.StringLiteral:
		return k.Value.String(), true
	case *ast.NumberLiteral:
		if v, ok := k.Value.(int64); ok {
			return strconv.FormatInt(v, 10), true
		}
	}
	return "", false
}

func propertyKind(p ast.Property) string {
	switch p.(type) {
	case *ast.SpreadElement:
		return "a spread"
	case *ast.PropertyShort:
		return "a variable"
	}
	return "something other than a value"
}

// where names the value at a path for a message.
func where(path string) string {
	if path == "" {
		return "the declaration"
	}
	return path
}

func kindOf(node ast.Expression) string {
	switch node.(type) {
	case *ast.Identifier:
		return "a variable"
	case *ast.CallExpression, *ast.NewExpression:
		return "a call"
	case *ast.FunctionLiteral, *ast.ArrowFunctionLiteral:
		return "a function"
	case *ast.TemplateLiteral:
		return "a template with expressions"
	}
	return "an expression"
}

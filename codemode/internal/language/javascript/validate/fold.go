package validate

import (
	"encoding/json"
	"slices"
	"strconv"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/file"
	"github.com/dop251/goja/token"

	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// inputValue is a value in the input of a call as far as it is known from literals.
type inputValue struct {
	from, to file.Idx // its position, with the name of a member
	json     []byte   // of a scalar
	names    []string // of the members of an object, in order
	members  map[string]*inputValue
	items    []*inputValue // of an array
	list     bool
	// undefined are the members or elements that are undefined, with their positions. JSON
	// leaves them out.
	undefined map[string]file.Idx
	// known means that the whole value is known. Otherwise only problems of its known parts
	// are certain.
	known bool
}

func object(from, to file.Idx) *inputValue {
	return &inputValue{from: from, to: to, members: map[string]*inputValue{}, known: true}
}

// put adds a member, or replaces one of the same name.
func (p *inputValue) put(name string, v *inputValue) {
	delete(p.undefined, name)
	if !slices.Contains(p.names, name) {
		p.names = append(p.names, name)
	}
	p.members[name] = v
}

// drop removes a member whose value is not known.
func (p *inputValue) drop(name string) {
	p.known = false
	delete(p.undefined, name)
	p.names = slices.DeleteFunc(p.names, func(n string) bool { return n == name })
	delete(p.members, name)
}

// dropUndefined removes a member that is undefined.
func (p *inputValue) dropUndefined(name string, at file.Idx) {
	p.drop(name)
	if p.undefined == nil {
		p.undefined = map[string]file.Idx{}
	}
	p.undefined[name] = at
}

// at returns the value at a JSON Pointer, else the nearest value around it; exact reports
// which. depth is the number of steps.
func (p *inputValue) at(path string) (found *inputValue, depth int, exact bool) {
	found = p
	for _, step := range fault.Steps(path) {
		next := found.members[step]
		if found.list {
			if i, err := strconv.Atoi(step); err == nil && i >= 0 && i < len(found.items) {
				next = found.items[i]
			}
		}
		if next == nil {
			return found, depth, false
		}
		found, depth = next, depth+1
	}
	return found, depth, true
}

// appendJSON writes the known parts. An unknown element is written as null, so that the
// others keep their places.
func (p *inputValue) appendJSON(out []byte) []byte {
	switch {
	case p.members != nil:
		out = append(out, '{')
		for i, name := range p.names {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(append(out, quoted(name)...), ':')
			out = p.members[name].appendJSON(out)
		}
		return append(out, '}')
	case p.list:
		out = append(out, '[')
		for i, one := range p.items {
			if i > 0 {
				out = append(out, ',')
			}
			if one == nil {
				out = append(out, "null"...)
			} else {
				out = one.appendJSON(out)
			}
		}
		return append(out, ']')
	}
	return append(out, p.json...)
}

func quoted(s string) []byte {
	b, _ := wire.Marshal(s) // a string cannot fail
	return b
}

// fold returns the known value of an expression; nil if nothing is known, or if it is
// undefined, which is left out of the input of a call.
func (l *literals) fold(t term, depth int) *inputValue {
	if depth > maxDepth || l.visited > maxVisited {
		return nil
	}
	l.visited++
	e := t.Expression
	switch v := e.(type) {
	case *ast.Identifier:
		return l.foldName(t, v, depth)
	case *ast.ObjectLiteral:
		return l.foldObject(t.scope, v, depth)
	case *ast.ArrayLiteral:
		return l.foldArray(t.scope, v, depth)
	case *ast.NullLiteral:
		return scalar(e, []byte("null"))
	case *ast.BooleanLiteral:
		return scalar(e, strconv.AppendBool(nil, v.Value))
	case *ast.NumberLiteral:
		return foldNumber(e, v.Value, 1)
	case *ast.UnaryExpression:
		if n, ok := v.Operand.(*ast.NumberLiteral); ok && v.Operator == token.MINUS {
			return foldNumber(e, n.Value, -1)
		}
		return nil
	}
	if text, ok := plainText(e); ok {
		return scalar(e, quoted(text))
	}
	return nil
}

func scalar(e ast.Expression, text []byte) *inputValue {
	return &inputValue{from: e.Idx0(), to: e.Idx1(), json: text, known: true}
}

func foldNumber(e ast.Expression, v any, sign float64) *inputValue {
	var n float64
	switch v := v.(type) {
	case int64:
		n = float64(v)
	case float64:
		n = v
	default: // a BigInt
		return nil
	}
	text, err := json.Marshal(n * sign) // as ECMAScript writes it
	if err != nil {
		return nil // Infinity
	}
	if n == 0 {
		text = []byte("0")
	}
	return scalar(e, text)
}

// foldName follows a name to the literal that it always has. An object that is mentioned
// elsewhere too may be changed there.
func (l *literals) foldName(t term, id *ast.Identifier, depth int) *inputValue {
	name := id.Name.String()
	v, _ := t.scope.lookup(name)
	if v.literal.Expression == nil {
		return nil
	}
	at := l.fold(v.literal, depth+1)
	if at == nil || at.json == nil && l.names.uses[name] != 1 {
		return nil
	}
	return at
}

func (l *literals) foldObject(s *scope, o *ast.ObjectLiteral, depth int) *inputValue {
	out := object(o.Idx0(), o.Idx1())
	for _, p := range o.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			l.foldMember(out, p.Name.Name.String(), p.Name.Idx, term{&p.Name, s}, depth)
		case *ast.PropertyKeyed:
			name, ok := memberName(p)
			switch {
			case !ok, name == "__proto__":
				return nil // it may set any member, or the prototype
			case p.Kind != ast.PropertyKindValue:
				out.drop(name)
			default:
				l.foldMember(out, name, p.Key.Idx0(), term{p.Value, s}, depth)
			}
		default: // a spread may give any member another value
			for _, name := range slices.Clone(out.names) {
				out.drop(name)
			}
			clear(out.undefined)
			out.known = false
		}
	}
	return out
}

func (l *literals) foldMember(out *inputValue, name string, from file.Idx, t term, depth int) {
	v := l.fold(t, depth+1)
	switch {
	case v == nil && isUndefined(t):
		out.dropUndefined(name, from)
		return
	case v == nil:
		out.drop(name)
		return
	}
	placed := *v
	if _, declared := t.Expression.(*ast.Identifier); !declared {
		placed.from = from
	}
	out.known = out.known && v.known
	out.put(name, &placed)
}

// memberName returns the name of a property, including a literal in brackets.
func memberName(p *ast.PropertyKeyed) (string, bool) {
	if p.Computed {
		return plainText(p.Key)
	}
	if n, ok := p.Key.(*ast.NumberLiteral); ok {
		return n.Literal, n.Literal == strconv.Itoa(int(toFloat(n.Value)))
	}
	return literalKey(p)
}

func toFloat(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return -1
}

func (l *literals) foldArray(s *scope, a *ast.ArrayLiteral, depth int) *inputValue {
	out := &inputValue{from: a.Idx0(), to: a.Idx1(), list: true, known: true}
	for _, e := range a.Value {
		if isSpread(e) {
			return nil
		}
		var one *inputValue
		if e != nil {
			one = l.fold(term{e, s}, depth+1)
		}
		if at := (term{e, s}); e != nil && isUndefined(at) {
			out.dropUndefined(strconv.Itoa(len(out.items)), e.Idx0())
		}
		out.known = out.known && one != nil && one.known
		out.items = append(out.items, one)
	}
	return out
}

// isUndefined reports whether an expression is undefined or absent.
func isUndefined(t term) bool {
	id, ok := t.Expression.(*ast.Identifier)
	if !ok || id.Name != "undefined" {
		return t.Expression == nil
	}
	_, free := t.scope.lookup("undefined")
	return free
}

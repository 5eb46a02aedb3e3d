package validate

import (
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// usage is how a script uses its names, wherever they are declared: two variables of the
// same name count as one.
type usage struct {
	assigned map[string]bool // names assigned after their declaration
	shrunk   map[string]bool // names of values whose members are deleted
	vars     map[string]int  // how often `var` declares them
	uses     map[string]int  // how often they are mentioned except in declarations and assignments
	globals  map[string]bool // members that are added to the global object
	members  map[string]bool // members that are assigned, whatever to
	// anyMember says that members are added whose names are not known.
	anyMember bool
	dynamic   bool // globals with computed names are defined
}

// keeps reports whether a name always has the value of its declaration.
func (u *usage) keeps(name string, how token.Token) bool {
	switch how {
	case token.CONST:
		return true
	case token.LET:
		return !u.assigned[name]
	case token.VAR:
		return !u.assigned[name] && u.vars[name] == 1
	}
	return false
}

func newUsage() *usage {
	return &usage{assigned: map[string]bool{}, shrunk: map[string]bool{}, vars: map[string]int{}, uses: map[string]int{}, globals: map[string]bool{}, members: map[string]bool{}}
}

// assigns records that the names of a target get other values.
func (u *usage) assigns(target ast.Expression) {
	eachName(target, func(name string) { u.assigned[name] = true })
}

// shrinks records the name whose value loses a member by delete.
func (u *usage) shrinks(e ast.Expression) {
	for {
		switch m := e.(type) {
		case *ast.DotExpression:
			e = m.Left
		case *ast.BracketExpression:
			e = m.Left
		case *ast.Identifier:
			u.shrunk[m.Name.String()] = true
			return
		default:
			return
		}
	}
}

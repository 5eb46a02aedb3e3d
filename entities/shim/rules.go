package shim

import (
	"errors"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect/sql"
)

// Rows is which rows of a type a viewer may read: a statement of one column, the
// ids. bound is how many arguments stand before it in a larger statement.
type Rows func(bound int) (text string, args []any)

// ErrNotRows is what a policy or interceptor ends in that does more to a query
// than choosing rows, which reads of the engine could not follow.
var ErrNotRows = errors.New("only rules that choose rows are supported")

// Readable makes Rows of a query that its type's interceptors and policy have
// prepared. q is what they left of it, and query makes its statement again.
func Readable(q *ent.QueryContext, id string, query func() *sql.Selector) (Rows, error) {
	switch {
	case q.Limit != nil || q.Offset != nil:
		return nil, fmt.Errorf("a rule of %s sets a limit or an offset: %w", q.Type, ErrNotRows)
	case len(q.Fields) > 0:
		return nil, fmt.Errorf("a rule of %s chooses fields: %w", q.Type, ErrNotRows)
	}
	if err := query().Err(); err != nil {
		return nil, err
	}
	return func(bound int) (string, []any) {
		s := query()
		s.Select(s.C(id)).ClearOrder().SetTotal(bound)
		return s.Query()
	}, nil
}

// Unheld says of each interceptor that reads of the engine could not hold why.
// An interceptor holds if it is a Traverser, which is asked which rows a query may
// find; one that wraps the query may change its result in Go, which never exists
// where rows become JSON.
func Unheld(typ string, interceptors []ent.Interceptor) (problems []string) {
	for i, in := range interceptors {
		if in == nil {
			problems = append(problems, fmt.Sprintf("%s: interceptor %d is not registered: import ent/runtime in the app's main package", typ, i+1))
			continue
		}
		_, traverses := in.(ent.Traverser)
		if next := new(untouched); !traverses || in.Intercept(next) != ent.Querier(next) {
			problems = append(problems, fmt.Sprintf("%s: interceptor %d (%T) wraps queries and may change their results; make it a Traverser (ent.TraverseFunc, intercept.TraverseFunc), which chooses rows", typ, i+1, in))
		}
	}
	return problems
}

// untouched is a query that is never made.
type untouched struct{ ent.Querier }

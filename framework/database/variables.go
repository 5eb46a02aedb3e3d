package database

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"entgo.io/ent/dialect"
	entsql "entgo.io/ent/dialect/sql"

	"github.com/koan-go/koan/framework/fault"
)

// Variable is a session variable that a context carries for the statements that
// run in it, by ent's sql.WithVar and sql.WithIntVar. Policies of PostgreSQL's row
// level security read such variables.
type Variable struct{ Name, Value string }

// Variables returns the session variables of a context, each name once and sorted.
//
// ent sets them for the session and leaves them there where the statement is part
// of a transaction, so a connection would go back to the pool with them. The
// backends set them for the transaction only, and before every statement to what
// that statement's context carries.
func Variables(ctx context.Context) ([]Variable, error) {
	if held, ok := ctx.Value(heldKey{}).([]Variable); ok {
		return held, nil
	}
	carried := ctx.Value(entsKey)
	if carried == nil {
		return nil, nil
	}
	return decodeVariables(carried)
}

// entsKey is the key under which a context carries ent's session variables. ent
// keeps it to itself, but asks any context for it.
var entsKey = func() any {
	var asked keyRecorder
	entsql.VarFromContext(&asked, "")
	return asked.key
}()

// keyRecorder is a context that records what it is asked for.
type keyRecorder struct {
	context.Context
	key any
}

func (r *keyRecorder) Value(key any) any {
	r.key = key
	return nil
}

var errVariables = errors.New("entities: the session variables of this version of ent cannot be read")

// decodeVariables reads ent's struct{vars []struct{k, v string}}. Another shape is
// an error: a statement without its variables could read what is somebody else's.
func decodeVariables(carried any) (out []Variable, err error) {
	s := reflect.ValueOf(carried)
	if s.Kind() != reflect.Struct || s.NumField() != 1 || s.Field(0).Kind() != reflect.Slice {
		return nil, errVariables
	}
	for list, i := s.Field(0), 0; i < list.Len(); i++ {
		v := list.Index(i)
		if v.Kind() != reflect.Struct || v.NumField() != 2 || v.Field(0).Kind() != reflect.String || v.Field(1).Kind() != reflect.String {
			return nil, errVariables
		}
		out = slices.DeleteFunc(out, func(o Variable) bool { return o.Name == v.Field(0).String() })
		out = append(out, Variable{Name: v.Field(0).String(), Value: v.Field(1).String()})
	}
	slices.SortFunc(out, func(a, b Variable) int {
		if a.Name < b.Name {
			return -1
		}
		return 1
	})
	return out, nil
}

type heldKey struct{}

// detachVariables takes the session variables of a context away from ent, which would set them
// on the connection, and leaves them where Variables finds them. Only PostgreSQL has
// such variables: without them the database would not keep apart what they keep
// apart.
func detachVariables(ctx context.Context, spoken string) (context.Context, error) {
	vars, err := Variables(ctx)
	if err != nil {
		return nil, err
	}
	if err := CheckVariables(spoken, vars); err != nil || len(vars) == 0 {
		return ctx, err
	}
	return context.WithValue(WithoutVariables(ctx), heldKey{}, vars), nil
}

// WithoutVariables returns a context in which ent finds no session variables.
func WithoutVariables(ctx context.Context) context.Context {
	if ctx.Value(entsKey) == nil {
		return ctx
	}
	return context.WithValue(ctx, entsKey, nil)
}

// CheckVariables refuses session variables where the database has none.
func CheckVariables(spoken string, vars []Variable) error {
	if len(vars) == 0 || spoken == dialect.Postgres {
		return nil
	}
	return fault.Newf(fault.CapabilityUnsupported, "the app sets the session variable %q, but only PostgreSQL has session variables", vars[0].Name).
		WithHint("Keep the data in PostgreSQL, or use sql.WithVar in Viewer and hooks only with PostgreSQL.")
}

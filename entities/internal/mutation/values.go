package mutation

import (
	"context"
	"database/sql/driver"
	"errors"
	"reflect"
	"slices"
	"time"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/database/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// unkeptValues are the values of one write that their columns would not keep as they are: more
// than the declared type holds, or decimals of which SQLite makes binary numbers. Inputs are
// looked at when they are decoded; these are what ent's defaults and the app's code set.
type unkeptValues []unkeptValue

type unkeptValue struct {
	column  *descriptor.Column
	problem string
	rounded string // what SQLite would make of a decimal, "" for another problem
}

func (u unkeptValues) Error() string { return u[0].column.Field + " " + u[0].problem }

// CheckValues refuses the values of a write that their columns would not keep.
func CheckValues(k *model.Kind, m ent.Mutation, spoken string) error {
	var out unkeptValues
	for _, c := range k.Bounded {
		v, ok := m.Field(c.Name)
		if _, isTime := v.(time.Time); !ok || isTime { // of times, inputs are checked and the rest is rounded
			continue
		}
		held, err := plainOf(c, v)
		if err != nil {
			return err
		}
		if why := model.Exceeds(c, held); why != "" {
			out = append(out, unkeptValue{column: c, problem: why})
		}
	}
	if spoken == dialect.SQLite {
		rounded, err := roundedDecimals(k, m)
		if err != nil {
			return err
		}
		out = append(out, rounded...)
	}
	if len(out) > 0 {
		return out
	}
	return nil
}

// roundedDecimals returns the decimals of a write that SQLite would round.
func roundedDecimals(k *model.Kind, m ent.Mutation) (out unkeptValues, err error) {
	for _, c := range k.Rounded {
		v, ok := m.Field(c.Name)
		if _, kept := v.(shim.Bound); !ok || kept && c.IsLoose() { // which was stored like that already
			continue
		}
		held, err := plainOf(c, v)
		if err != nil {
			return nil, err
		}
		text, isText := held.(string)
		if !isText { // the app's type keeps it as a number, or not at all
			continue
		}
		if becomes, kept := sqltext.KeepsDecimal(text, c.Affinity == descriptor.Real); !kept {
			out = append(out, unkeptValue{c, "has more digits than this database keeps of it: " + text + " would become " + becomes, becomes})
		}
	}
	return out, nil
}

// checkAll is CheckValues for the app's code, which may also set JSON that no input could have.
func checkAll(k *model.Kind, m ent.Mutation, spoken string) error {
	var out unkeptValues
	for _, c := range k.JSON {
		v, _ := m.Field(c.Name)
		if why := model.JSONProblem(v); why != "" {
			out = append(out, unkeptValue{column: c, problem: why})
		}
	}
	if len(out) > 0 {
		return out
	}
	return CheckValues(k, m, spoken)
}

// plainOf returns what a value of a field is stored as, integers and numbers as the widest of
// their kind.
func plainOf(c *descriptor.Column, v any) (any, error) {
	var held any = v
	var err error
	if b, ok := v.(shim.Bound); ok {
		held = b.V
	} else if c.Form != nil {
		held, err = c.Form.Bind(v)
	} else if valuer, ok := v.(driver.Valuer); ok {
		held, err = valuer.Value()
	}
	if err != nil {
		return nil, err
	}
	if at, ok := held.(time.Time); ok {
		return at, nil
	}
	switch r := reflect.ValueOf(held); {
	case !r.IsValid():
		return nil, nil
	case r.CanInt():
		return r.Int(), nil
	case r.CanUint():
		return int64(min(r.Uint(), 1<<63-1)), nil
	case r.CanFloat():
		return r.Float(), nil
	case r.Kind() == reflect.String:
		return r.String(), nil
	}
	return held, nil
}

// checkingValues is next, and the error of checkAll where other hooks, which run after the
// engine's, have set such a value.
func checkingValues(k *model.Kind, next ent.Mutator, spoken string) ent.Mutator {
	if len(k.Bounded)+len(k.JSON) == 0 && (len(k.Rounded) == 0 || spoken != dialect.SQLite) {
		return next
	}
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		if err := checkAll(k, m, spoken); err != nil {
			return nil, err
		}
		v, err := next.Mutate(ctx, m)
		var unkept unkeptValues
		if failed := checkAll(k, m, spoken); err == nil || errors.As(failed, &unkept) {
			err = errors.Join(failed, err) // the value says more than the database's fault of it
		}
		if err == nil && spoken == dialect.SQLite {
			err = roundStoredTimes(ctx, k, m)
		}
		return v, err
	})
}

// roundStoredTimes rounds, in the rows that a write of a run has stored, the times that the app's hooks set:
// they run after roundTimes, and nothing of the mutation can be changed after them. PostgreSQL rounds by
// itself.
func roundStoredTimes(ctx context.Context, k *model.Kind, m ent.Mutation) error {
	t := mutatedIn(ctx)
	if t == nil || k.Entity == nil {
		return nil
	}
	for _, c := range k.Bounded {
		v, _ := m.Field(c.Name)
		at, ok := v.(time.Time)
		rounded := model.RoundTime(c, at)
		if !ok || rounded.Equal(at) {
			continue
		}
		b := t.Statement()
		b.Raw("UPDATE ").Name(k.Entity.Table).Raw(" SET ").Name(c.Name).Raw(" = ").Arg(rounded)
		b.Raw(" WHERE ").Name(c.Name).Raw(" = ").Arg(at)
		if id, one := k.ID(m); one {
			b.Raw(" AND ")
			filter.OwnKeyIs(b, &k.Entity.Key, k.BoundID(id))
		}
		if _, err := t.SQL.ExecContext(ctx, string(b.Text()), b.Args()...); err != nil {
			return err
		}
	}
	return nil
}

// roundTimes rounds the times that callers in Go, and ent's defaults, set in columns that keep
// fewer digits of a second: nobody has chosen those of a clock.
func roundTimes(k *model.Kind, m ent.Mutation) error {
	for _, c := range k.Bounded {
		if c.Capacity.SecondDigits == nil {
			continue
		}
		v, _ := m.Field(c.Name)
		at, ok := v.(time.Time)
		if !ok {
			continue
		}
		if rounded := model.RoundTime(c, at); !rounded.Equal(at) {
			if err := k.Set(m, c.Name, rounded); err != nil {
				return err
			}
		}
	}
	return nil
}

// UnkeptFault is the fault for values that their columns would not keep; nil for another error.
func UnkeptFault(k *model.Kind, at string, err error) *fault.Fault {
	var unkept unkeptValues
	if !errors.As(err, &unkept) {
		return nil
	}
	details := make([]fault.Detail, len(unkept))
	for i, u := range unkept {
		f := k.FieldNamed(u.column.Field)
		details[i] = fault.Detail{Path: at + "/" + filter.Escape(u.column.Field), Message: u.column.Field + " " + model.WithoutValue(f, u.problem)}
	}
	f := fault.Invalid(details...).Because(err)
	if slices.ContainsFunc(unkept, func(u unkeptValue) bool { return u.rounded != "" }) {
		return f.WithHint("Round it to 15 significant digits. SQLite makes a number of it because of the column's type; in a column whose SchemaType is text, with expose.Field{Decimal: expose.Yes()}, the app can keep all digits.")
	}
	return f
}

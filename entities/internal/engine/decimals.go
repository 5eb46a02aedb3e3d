package engine

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"entgo.io/ent"
	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/sqltext"
	"github.com/koan-go/koan/framework/fault"
)

// roundedDecimals are the decimals of one write that SQLite would not give back as they are,
// since it makes binary numbers of what is stored in a column of their type.
type roundedDecimals []roundedDecimal

type roundedDecimal struct {
	column        *descriptor.Column
	text, becomes string
}

func (r roundedDecimals) Error() string {
	return fmt.Sprintf("SQLite would keep %s of %s as %s: its column is one of numbers, which have 15 digits", r[0].text, r[0].column.Field, r[0].becomes)
}

// checkDecimals refuses the decimals of a write that SQLite would round.
func checkDecimals(k *model.Kind, m ent.Mutation, spoken string) error {
	if len(k.Rounded) == 0 || spoken != dialect.SQLite {
		return nil
	}
	var out roundedDecimals
	for _, c := range k.Rounded {
		v, ok := m.Field(c.Name)
		if !ok {
			continue
		}
		text, err := textOf(c, v)
		if err != nil {
			return err
		}
		if text == "" { // the app's type keeps it as a number, or not at all
			continue
		}
		if becomes, kept := sqltext.KeepsDecimal(text, c.Affinity == descriptor.Real); !kept {
			out = append(out, roundedDecimal{c, text, becomes})
		}
	}
	if len(out) > 0 {
		return out
	}
	return nil
}

// textOf returns the text that a value of a field is stored as, "" for one that is stored as
// anything else.
func textOf(c *descriptor.Column, v any) (string, error) {
	var held any
	var err error
	if c.Form != nil {
		held, err = c.Form.Bind(v)
	} else if valuer, ok := v.(driver.Valuer); ok {
		held, err = valuer.Value()
	}
	text, _ := held.(string)
	return text, err
}

// checkingDecimals is next, and the error of checkDecimals where other hooks, which run after
// the engine's, have set such a decimal.
func checkingDecimals(k *model.Kind, next ent.Mutator, spoken string) ent.Mutator {
	if len(k.Rounded) == 0 || spoken != dialect.SQLite {
		return next
	}
	return ent.MutateFunc(func(ctx context.Context, m ent.Mutation) (ent.Value, error) {
		if err := checkDecimals(k, m, spoken); err != nil {
			return nil, err
		}
		v, err := next.Mutate(ctx, m)
		if err != nil {
			return v, err
		}
		return v, checkDecimals(k, m, spoken)
	})
}

// roundedFault is the fault for decimals that SQLite would round; nil for another error.
func roundedFault(k *model.Kind, at string, err error) *fault.Fault {
	var rounded roundedDecimals
	if !errors.As(err, &rounded) {
		return nil
	}
	details := make([]fault.Detail, len(rounded))
	for i, r := range rounded {
		d := fault.Detail{
			Path:    at + "/" + filter.Escape(r.column.Field),
			Message: r.column.Field + " has more digits than this database keeps of it: " + r.text + " would become " + r.becomes,
		}
		if f := k.FieldNamed(r.column.Field); f == nil || f.Sensitive {
			d.Message = r.column.Field + " has more digits than this database keeps of it"
		}
		details[i] = d
	}
	return fault.Invalid(details...).Because(err).
		WithHint("Round it to 15 significant digits. SQLite makes a number of it because of the column's type; in a column whose SchemaType is text, with expose.Field{Decimal: expose.Yes()}, the app can keep all digits.")
}

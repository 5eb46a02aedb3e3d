package refusal

import (
	"context"
	"errors"

	"entgo.io/ent/dialect"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/entities/internal/transaction"
	"github.com/koan-go/koan/framework/fault"
)

// misfitFault is the fault for a value that the database refused without saying of which column,
// at the field if that can be found; nil where refused is about anything else.
func (t *Faults) misfitFault(ctx context.Context, k *model.Kind, m *model.Values, refused error) *fault.Fault {
	var f *fault.Fault
	if !errors.As(refused, &f) || f.Code != fault.InvalidPayload || f.Path != "" || m == nil {
		return nil
	}
	details := t.refusedFields(ctx, k, m)
	if len(details) == 0 {
		return f.WithPath(m.At)
	}
	return fault.Invalid(details...).Because(refused)
}

// refusedFields returns the fields of a model whose values the database does not take.
func (t *Faults) refusedFields(ctx context.Context, k *model.Kind, m *model.Values) (details []fault.Detail) {
	for i := range m.Fields {
		field := &m.Fields[i]
		why, err := t.refusedAlone(ctx, k, field)
		if err != nil {
			break // the transaction is over, which whoever comes next will be told
		}
		if why != "" {
			details = append(details, fault.Detail{Path: m.At + "/" + filter.Escape(field.Field.Name), Message: field.Field.Name + ": " + why})
		}
	}
	return details
}

// refusedAlone says why the database does not take a value into its column, "" where it does. It
// asks with statements that write nothing.
func (t *Faults) refusedAlone(ctx context.Context, k *model.Kind, f *model.FieldValue) (why string, err error) {
	if f.Value == nil || t.Backend.Dialect().Name() != dialect.Postgres {
		return "", nil
	}
	w := k.Create(t.Ent)
	if k.Set(w.Mutation, f.Column.Name, f.Value) != nil {
		return "", nil
	}
	v, _ := w.Mutation.Field(f.Column.Name)
	if v, err = model.DriverValue(f.Column, v); err != nil {
		return "", nil
	}
	b := t.Statement()
	b.Raw("UPDATE ").Name(k.Entity.Table).Raw(" SET ").Name(f.Column.Name).Raw(" = ").Arg(v).Raw(" WHERE 1=0")
	if text, isText := v.(string); isText && f.Column.Native != "" { // as domains look at their values
		b = t.Statement()
		b.Raw("SELECT CAST(CAST(").Arg(text).Raw(" AS text) AS " + f.Column.Native + ")")
	}
	end, err := t.SQL.Savepoint(ctx, false)
	if err != nil {
		return "", err
	}
	_, tried := t.SQL.ExecContext(ctx, string(b.Text()), b.Args()...)
	if err := end(tried == nil); err != nil || tried == nil {
		return "", err
	}
	trouble, _ := t.Backend.Trouble(t.Set, tried)
	var refused *fault.Fault
	if errors.As(trouble, &refused) && refused.Code == fault.InvalidPayload {
		return refused.Message, nil
	}
	if broken := t.Backend.Violation(tried); broken != nil { // of a domain
		return "a rule of the database refuses it" + transaction.InParentheses(broken.Name), nil
	}
	return "", nil
}

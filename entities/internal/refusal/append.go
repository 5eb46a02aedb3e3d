package refusal

import (
	"reflect"
	"strings"

	"entgo.io/ent"

	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/entities/internal/model"
	"github.com/koan-go/koan/framework/database"
	"github.com/koan-go/koan/framework/fault"
)

// OfAppend names the field to whose list a mutation appends more than the database takes in one
// statement: on SQLite, ent makes two arguments of a function of each element. Other errors are returned
// unchanged.
func (t *Faults) OfAppend(k *model.Kind, m ent.Mutation, err error) error {
	if err == nil || t.SQL.Stale(err) {
		return err
	}
	large := database.Fault(t.Backend, t.Set, err)
	if !database.IsStatementTooLarge(large) {
		return err
	}
	field := t.by.FieldName(k, longestAppended(k, m))
	if field == "" {
		return large
	}
	return fault.Newf(fault.InvalidPayload, "more is appended to %s at once than the database takes", filter.Quote(field)).WithPath("/" + filter.Escape(field)).
		WithHint("Append it in several steps, or set the whole list.").Because(large)
}

// longestAppended returns the field to which a mutation appends most, "" for none. ent.Mutation does not
// tell; each mutation has a method for each list.
func longestAppended(k *model.Kind, m ent.Mutation) (field string) {
	most := 0
	for i := range k.Entity.Columns {
		c := &k.Entity.Columns[i]
		if n := appended(m, c.Ent); n > most {
			field, most = c.Field, n
		}
	}
	return field
}

func appended(m ent.Mutation, name string) int {
	v := reflect.ValueOf(m)
	for i := range v.NumMethod() {
		method, ok := strings.CutPrefix(v.Type().Method(i).Name, "Appended")
		if !ok || !strings.EqualFold(method, strings.ReplaceAll(name, "_", "")) {
			continue
		}
		if f := v.Method(i); f.Type().NumIn() == 0 && f.Type().NumOut() == 2 && f.Type().Out(0).Kind() == reflect.Slice {
			return f.Call(nil)[0].Len()
		}
	}
	return 0
}

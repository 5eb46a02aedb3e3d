package read

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/internal/filter"
	"github.com/koan-go/koan/framework/fault"
)

// unreadable is a stored value that the app's own type does not take. The value itself is in the cause
// only, which is for the log.
type unreadable struct {
	*fault.Fault
	field, why string
}

// Unwrap lets the fault be found where nobody names the row.
func (u *unreadable) Unwrap() error { return u.Fault }

// formFault is for a value that the app's own type does not read. The type's words may have the
// value in them.
func formFault(key string, err error) error {
	u := &unreadable{field: strings.Trim(key, `,":{`), why: "the app's type rejects it"}
	u.Fault = fault.Newf(fault.ServiceUnavailable, "a stored value of %q cannot be read: %s", u.field, u.why).
		WithHint("Scan of the field's Go type must accept every value that its column can hold; until it does, leave the field out of `fields`.").WithRetry(fault.Never).Because(err)
	return u
}

// nameRow adds to the fault of an unreadable value which row it is of. written is what the row's
// other cells have written before: the id is the first of them.
func nameRow(err error, e *descriptor.Entity, written []byte) error {
	var u *unreadable
	if e == nil || !errors.As(err, &u) {
		return err
	}
	details := map[string]any{"entity": e.Resource.Name, "field": u.field}
	of := "a " + e.Resource.Name
	if id := firstValue(written); id != nil {
		details["id"] = id
		of = e.Resource.Name + " " + filter.Quote(fmt.Sprint(id))
	}
	named := *u.Fault
	named.Message = fmt.Sprintf("the stored value of %q of %s cannot be read: %s", u.field, of, u.why)
	return named.WithDetails(details).Because(err)
}

// firstValue returns the first value of an object that has just begun, nil for none.
func firstValue(object []byte) (v any) {
	d := json.NewDecoder(bytes.NewReader(object))
	d.UseNumber()
	for range 2 { // the brace and the name
		if _, err := d.Token(); err != nil {
			return nil
		}
	}
	if d.Decode(&v) != nil {
		return nil
	}
	return v
}

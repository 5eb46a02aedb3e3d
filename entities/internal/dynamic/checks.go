package dynamic

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"unicode/utf8"

	"entgo.io/ent/dialect/sql/sqlgraph"

	"github.com/koan-go/koan/entities/shim"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// invalidError is what is wrong with one field of a row, or with an edge.
type invalidError struct {
	name string // ent's
	err  error
}

func (e *invalidError) Error() string { return e.err.Error() }
func (e *invalidError) Unwrap() error { return e.err }

// goneError says that there is no row to delete.
type goneError struct{ entity string }

func (e *goneError) Error() string { return e.entity + " not found" }

// trait is shim.App.Trait.
func trait(err error) shim.Trait {
	var invalid *invalidError
	if errors.As(err, &invalid) {
		return shim.Trait{Invalid: true, Field: invalid.name}
	}
	var missing *sqlgraph.NotFoundError
	var gone *goneError
	return shim.Trait{NotFound: errors.As(err, &missing) || errors.As(err, &gone), Constraint: err != nil && sqlgraph.IsConstraintError(err)}
}

// checks are the limits of a field that hold for whoever writes it.
type checks struct {
	*catalog.Field
	pattern *regexp.Regexp
}

func checksOf(f *catalog.Field) checks {
	c := checks{Field: f}
	if f.Pattern != "" {
		c.pattern = regexp.MustCompile(f.Pattern)
	}
	return c
}

// refuse returns what is wrong with a value, nil for nothing.
func (c checks) refuse(v any) error {
	switch v := v.(type) {
	case string:
		return c.refuseText(v)
	case int64:
		return c.refuseNumber(float64(v))
	case float64:
		return c.refuseNumber(v)
	}
	return nil
}

func (c checks) refuseText(s string) error {
	switch {
	case c.Type == catalog.TypeEnum && !slices.Contains(c.Enum, s):
		return fmt.Errorf("%q is not one of its values", s)
	case c.MinLength != nil && utf8.RuneCountInString(s) < *c.MinLength:
		return errors.New("value is less than the required length")
	case c.MaxLength != nil && utf8.RuneCountInString(s) > *c.MaxLength:
		return errors.New("value is greater than the required length")
	case c.pattern != nil && !c.pattern.MatchString(s):
		return errors.New("value does not match validation")
	}
	return nil
}

func (c checks) refuseNumber(x float64) error {
	if c.Min != nil && x < *c.Min || c.Max != nil && x > *c.Max {
		return errors.New("value out of range")
	}
	return nil
}

// checkValues checks what is written to fields.
func (m *mutation) checkValues() error {
	if m.unmade != nil {
		return m.unmade
	}
	for i := range m.cells {
		s := &m.kind.slots[i]
		if m.cells[i].change != put || s.of == nil {
			continue
		}
		err := s.checks.refuse(m.cells[i].v)
		if err == nil && s.own != nil {
			err = s.own(m.cells[i].v)
		}
		if err != nil {
			return m.refused(s.name, err)
		}
	}
	return nil
}

// refused returns why a value is not written, in ent's words. A fault says why it could not be checked.
func (m *mutation) refused(field string, err error) error {
	if f := (*fault.Fault)(nil); errors.As(err, &f) {
		return err
	}
	return &invalidError{field, fmt.Errorf("validator failed for field \"%s.%s\": %w", m.Type(), field, err)}
}

// checkCreated checks a new row.
func (m *mutation) checkCreated() error {
	if m.unmade != nil { // else it would be a missing field
		return m.unmade
	}
	if own := m.kind.ownKey; own != nil && m.id != nil {
		if err := own(m.id); err != nil {
			return m.refused("id", err)
		}
	}
	for i := range m.kind.slots {
		s := &m.kind.slots[i]
		if s.of != nil && s.field.Required && m.cells[i].change != put {
			return &invalidError{s.name, fmt.Errorf("missing required field \"%s.%s\"", m.Type(), s.name)}
		}
	}
	for i := range m.kind.edges {
		if e := &m.kind.edges[i]; e.required && len(m.linked(i)) == 0 {
			return &invalidError{e.Ent, fmt.Errorf("missing required edge \"%s.%s\"", m.Type(), e.Ent)}
		}
	}
	return m.checkValues()
}

// checkUpdated checks the changes of a row.
func (m *mutation) checkUpdated() error {
	for i := range m.kind.edges {
		if e := &m.kind.edges[i]; e.required && m.isCleared(i) && len(m.linked(i)) == 0 {
			return &invalidError{e.Ent, fmt.Errorf("clearing a required edge \"%s.%s\"", m.Type(), e.Ent)}
		}
	}
	return m.checkValues()
}

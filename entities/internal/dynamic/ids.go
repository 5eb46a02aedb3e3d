package dynamic

import (
	"fmt"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/entities/shim"
)

// idForm is how ids are written and kept that one column has.
func idForm(c *descriptor.Column) shim.IDForm {
	switch {
	case c.Form != nil:
		return ownForm(c.Form)
	case c.Storage == descriptor.Int:
		return shim.IntIDs[int64]()
	case c.Storage == descriptor.UUID:
		return shim.UUIDs()
	}
	return shim.TextIDs[string]()
}

// ownForm is that of ids whose column has a form. An id is what callers see of it.
func ownForm(f descriptor.Form) shim.IDForm {
	return shim.IDForm{
		ParseID: func(text string) (any, error) {
			if text == "" {
				return nil, fmt.Errorf("an id must not be empty")
			}
			return f.Canonical(text)
		},
		FormatID: func(id any) string { return fmt.Sprint(id) },
		ScanID:   f.Show,
		BindID:   f.Bind,
	}
}

package outline

import (
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// FieldNotes say of a field in one line what its type cannot, with notes of a language's own.
func FieldNotes(f *catalog.Field, own ...string) string {
	var notes []string
	add := func(s string) { notes = append(notes, s) }
	if format := f.Format(); format != "" {
		add(format)
	}
	if f.Opaque {
		add("compared as a whole")
	}
	notes = append(notes, own...)
	if f.Required {
		add("required")
	}
	if f.ReadOnly {
		add("read-only")
	}
	if f.Immutable {
		add("only at creation")
	}
	notes = append(append(notes, f.Limits()...), f.Usual()...)
	return withNotes(f.Description, notes)
}

// EdgeNotes say of a relationship what its type cannot.
func EdgeNotes(e catalog.Edge) string { return withNotes(e.Description, e.Limits()) }

// withNotes appends notes to a description.
func withNotes(description string, notes []string) string {
	text := strings.Join(notes, ", ")
	if description == "" {
		return text
	}
	if text == "" {
		return description
	}
	return strings.TrimRight(description, " .") + " (" + text + ")."
}

package model

import (
	"encoding/json"
	"strings"

	"github.com/google/uuid"

	"github.com/koan-go/koan/entities/descriptor"
	"github.com/koan-go/koan/framework/catalog"
)

// exampleModel returns a model that a fresh app stores: every required field, and those
// with an example. It returns nil if something is required that only other entities, or
// the app's author, can supply. Texts begin with which, so that the examples of two
// operations can run one after the other where texts are unique.
func exampleModel(k *Kind, which string) Object {
	m := Object{}
	for i := range k.Edges {
		if k.Edges[i].JSON.Required {
			return nil
		}
	}
	if k.KeyField().Required {
		return nil
	}
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		if f.ReadOnly || f.Sensitive || f.Edge != "" {
			continue
		}
		if f.Example != nil {
			m[f.Name] = f.Example
			continue
		}
		if !f.Required {
			continue
		}
		v := exampleValue(f, which)
		if v == nil {
			return nil
		}
		m[f.Name] = v
	}
	return m
}

func exampleValue(f *catalog.Field, which string) any {
	switch f.Type {
	case catalog.TypeBool:
		return true
	case catalog.TypeInt, catalog.TypeFloat:
		switch {
		case f.Min != nil:
			return *f.Min
		case f.Max != nil:
			return *f.Max
		}
		return 1
	case catalog.TypeEnum:
		return f.Enum[0]
	case catalog.TypeTime:
		return "2026-01-31T08:00:00Z"
	case catalog.TypeDay:
		return "2026-01-31"
	case catalog.TypeDecimal:
		return exampleDecimal(f)
	case catalog.TypeUUID:
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte(f.Name)).String()
	case catalog.TypeBytes:
		return "a29hbg=="
	case catalog.TypeString, catalog.TypeText:
		if f.Pattern != "" {
			return nil
		}
		s := which + " " + f.Name
		if f.MinLength != nil && len(s) < *f.MinLength {
			s += strings.Repeat(".", *f.MinLength-len(s))
		}
		if f.MaxLength != nil && len(s) > *f.MaxLength {
			s = s[:*f.MaxLength]
		}
		return s
	case catalog.TypeJSON, catalog.TypeID:
	}
	return nil
}

// exampleDecimal returns a decimal that a column with the field's digits keeps.
func exampleDecimal(f *catalog.Field) string {
	switch whole := f.Precision - f.Scale; {
	case f.Precision == 0, whole > 0 && f.Scale >= 2:
		return "1.50"
	case whole > 0 && f.Scale >= 0:
		return "1"
	}
	return "0"
}

func createExample(k *Kind) json.RawMessage {
	m := exampleModel(k, "New")
	if m == nil {
		return nil
	}
	return Encode(Object{"model": m})
}

func upsertExample(k *Kind) json.RawMessage {
	m := exampleModel(k, "Example")
	if m == nil {
		return nil
	}
	return Encode(Object{"model": m})
}

func upsertManyExample(k *Kind) json.RawMessage {
	m := exampleModel(k, "Another")
	if m == nil {
		return nil
	}
	return Encode(Object{"models": []any{m}})
}

// exampleID returns a well-formed id that no entity has.
func exampleID(k *Kind) any {
	switch k.Entity.Key.Storage {
	case descriptor.Int:
		return "1000000"
	case descriptor.UUID:
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte(k.Name())).String()
	default:
		return "none"
	}
}

func deleteExample(k *Kind) json.RawMessage { return Encode(Object{"id": exampleID(k)}) }

func deleteManyExample(k *Kind) json.RawMessage { return Encode(Object{"ids": []any{exampleID(k)}}) }

// exampleChange is one field that can be changed, with a value that it takes.
func exampleChange(k *Kind) Object {
	for i := range k.Entity.Resource.Fields {
		f := &k.Entity.Resource.Fields[i]
		if f.ReadOnly || f.Sensitive || f.Immutable || f.Edge != "" {
			continue
		}
		if f.Example != nil {
			return Object{f.Name: f.Example}
		}
		if v := exampleValue(f, "Example"); v != nil {
			return Object{f.Name: v}
		}
	}
	return nil
}

func exampleMatch(k *Kind) Object {
	return Object{k.KeyField().Name: exampleID(k)}
}

func updateByQueryExample(k *Kind) json.RawMessage {
	changes := exampleChange(k)
	if changes == nil {
		return nil
	}
	return Encode(Object{"filter": exampleMatch(k), "changes": changes})
}

func deleteByQueryExample(k *Kind) json.RawMessage {
	return Encode(Object{"filter": exampleMatch(k)})
}

package engine

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
func exampleModel(k *kind, which string) object {
	m := object{}
	for i := range k.edges {
		if k.edges[i].json.Required {
			return nil
		}
	}
	if k.key().Required {
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
	case catalog.TypeDecimal:
		return "1.50"
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

func upsertExample(k *kind) json.RawMessage {
	m := exampleModel(k, "Example")
	if m == nil {
		return nil
	}
	return encode(object{"model": m})
}

func upsertManyExample(k *kind) json.RawMessage {
	m := exampleModel(k, "Another")
	if m == nil {
		return nil
	}
	return encode(object{"models": []any{m}})
}

// exampleID returns a well-formed id that no entity has.
func exampleID(k *kind) any {
	switch k.Entity.Key.Storage {
	case descriptor.Int:
		return "1000000"
	case descriptor.UUID:
		return uuid.NewSHA1(uuid.NameSpaceOID, []byte(k.name())).String()
	default:
		return "none"
	}
}

func deleteExample(k *kind) json.RawMessage { return encode(object{"id": exampleID(k)}) }

func deleteManyExample(k *kind) json.RawMessage { return encode(object{"ids": []any{exampleID(k)}}) }

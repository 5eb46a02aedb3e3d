package toolset

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"

	"github.com/koan-go/koan/framework/catalog"
)

// encoded returns compact JSON with the type first in each schema, and without escapes
// for HTML, which would cost tokens.
func encoded(v any) json.RawMessage {
	var b bytes.Buffer
	encode(&b, v)
	return b.Bytes()
}

func encode(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case object:
		if v == nil {
			b.WriteString("null")
			return
		}
		names := slices.Sorted(maps.Keys(v))
		slices.SortStableFunc(names, func(a, b string) int { return typeFirst(a) - typeFirst(b) })
		b.WriteByte('{')
		for i, name := range names {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(catalog.Quote(name) + ":")
			encode(b, v[name])
		}
		b.WriteByte('}')
	case []object:
		encodeList(b, v)
	case []any:
		encodeList(b, v)
	default:
		enc := json.NewEncoder(b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(v); err != nil {
			panic("toolset: a schema is not JSON: " + err.Error()) // made of decoded JSON and constants
		}
		b.Truncate(b.Len() - 1) // the newline of Encode
	}
}

func encodeList[T any](b *bytes.Buffer, list []T) {
	b.WriteByte('[')
	for i, one := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		encode(b, one)
	}
	b.WriteByte(']')
}

func typeFirst(name string) int {
	if name == "type" {
		return 0
	}
	return 1
}

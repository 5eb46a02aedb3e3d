package typegen

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// maxRepeated is how long a type without a name may be where several schemas refer to it, in bytes.
const maxRepeated = 40

// reference returns the type of what a $ref refers to in the same document: once written, by its name. What refers to
// itself without an object in between has none.
func (s *schemas) reference(ref string) string {
	pointer, ok := pointerOf(ref)
	if !ok {
		return anything
	}
	if kind, ok := s.named[pointer]; ok {
		return kind
	}
	s.named[pointer] = anything
	of, raw, ok := s.at(pointer)
	if !ok {
		return anything
	}
	name := s.name + pascal(pointer[strings.LastIndexByte(pointer, '/')+1:])
	if of.isObject() {
		return s.object(pointer, name, of, 0)
	}
	kind := s.kind(name, raw, 0)
	switch {
	case len(kind) <= maxRepeated:
	case s.write == nil:
		kind = anything
	default:
		name = s.unique(name)
		s.types.WriteString(name + " = " + kind + "\n")
		kind = name
	}
	s.named[pointer] = kind
	return kind
}

// whole returns the schema of the document, or the one that it is a reference to.
func (s *schemas) whole() (of schema, ok bool) {
	of, ok = read(s.doc)
	for n := 0; ok && n < maxDepth && of.Ref != "" && len(of.Properties) == 0; n++ {
		pointer, local := pointerOf(of.Ref)
		if !local {
			break
		}
		of, _, ok = s.at(pointer)
	}
	return of, ok
}

// at returns the schema at a pointer into the document.
func (s *schemas) at(pointer string) (of schema, raw json.RawMessage, ok bool) {
	if s.root == nil {
		d := json.NewDecoder(bytes.NewReader(s.doc))
		d.UseNumber()
		if d.Decode(&s.root) != nil {
			return of, nil, false
		}
	}
	found, ok := fault.At(s.root, strings.TrimPrefix(pointer, "#"))
	if !ok {
		return of, nil, false
	}
	raw, err := json.Marshal(found)
	if err != nil {
		return of, nil, false
	}
	of, ok = read(raw)
	return of, raw, ok
}

// pointerOf returns the pointer of a reference into its own document: "#", "#/$defs/a%20b".
func pointerOf(ref string) (pointer string, ok bool) {
	if ref != "#" && !strings.HasPrefix(ref, "#/") {
		return "", false
	}
	pointer, err := url.PathUnescape(ref)
	return pointer, err == nil
}

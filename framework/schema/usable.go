package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema/subschema"
)

// Usable returns a schema without the parts that cannot be used, and what they are: their
// paths, and why. All values that are valid by the whole schema are valid by what is left of
// it. The error is why nothing of it can be used.
func Usable(schema json.RawMessage) (usable json.RawMessage, left []fault.Detail, err error) {
	const most = 10 // each time, all that is known to be wrong is left out
	for range most {
		if err = new(Cache).Compile(schema); err == nil {
			return schema, left, nil
		}
		doc, derr := jsonschema.UnmarshalJSON(bytes.NewReader(schema))
		if derr != nil {
			return nil, nil, derr
		}
		dropped := 0
		for _, part := range unusableParts(doc, err) {
			if dropPart(doc, fault.Steps(part.Path)) {
				left = append(left, part)
				dropped++
			}
		}
		if dropped == 0 {
			return nil, nil, err
		}
		if schema, derr = json.Marshal(doc); derr != nil {
			return nil, nil, derr
		}
	}
	return nil, nil, err
}

// unusableParts returns the parts of a schema because of which it does not compile.
func unusableParts(doc any, err error) []fault.Detail {
	if parts := badPatterns(doc); len(parts) > 0 {
		return parts
	}
	var invalid *jsonschema.SchemaValidationError
	var violation *jsonschema.ValidationError
	if errors.As(err, &invalid) && errors.As(invalid.Err, &violation) {
		return deepest((&reader{all: true}).violations(violation))
	}
	if root, ok := doc.(map[string]any); ok && root["$schema"] != nil && !knownDialect(root["$schema"]) {
		return []fault.Detail{{Path: "/$schema", Message: fmt.Sprintf("%v is not a known version of JSON Schema", root["$schema"])}}
	}
	return badReferences(doc)
}

// deepest leaves out the parts that have others in them: where a part may have one of
// several forms, a mistake far down in one of them is a mistake of all.
func deepest(parts []fault.Detail) []fault.Detail {
	var out []fault.Detail
	for _, p := range parts {
		within := func(other fault.Detail) bool { return strings.HasPrefix(other.Path, p.Path+"/") }
		same := func(other fault.Detail) bool { return other.Path == p.Path }
		if !slices.ContainsFunc(parts, within) && !slices.ContainsFunc(out, same) {
			out = append(out, p)
		}
	}
	return out
}

func badPatterns(doc any) (out []fault.Detail) {
	bad := func(path, pattern string) {
		if _, err := regexp.Compile(pattern); err != nil {
			out = append(out, fault.Detail{Path: path, Message: fmt.Sprintf("the pattern %s is not supported", pattern)})
		}
	}
	subschema.Each(doc, func(path string, s map[string]any) {
		if pattern, ok := s["pattern"].(string); ok {
			bad(path+"/pattern", pattern)
		}
		if by, ok := s["patternProperties"].(map[string]any); ok {
			for _, pattern := range slices.Sorted(maps.Keys(by)) {
				bad(path+"/patternProperties", pattern)
			}
		}
	})
	return out
}

func knownDialect(v any) bool {
	text, _ := v.(string)
	u, err := url.Parse(text)
	return err == nil && u.Host == "json-schema.org"
}

// badReferences returns the references to what the schema does not have.
func badReferences(doc any) (out []fault.Detail) {
	subschema.Each(doc, func(path string, s map[string]any) {
		for _, word := range []string{"$ref", "$dynamicRef", "$recursiveRef"} {
			ref, ok := s[word].(string)
			if !ok || within(doc, ref) {
				continue
			}
			out = append(out, fault.Detail{Path: path + "/" + word, Message: fmt.Sprintf("the schema has no %s", ref)})
		}
	})
	return out
}

// within reports whether a reference is one to a part of the document, by its path.
func within(doc any, ref string) bool {
	path, ok := strings.CutPrefix(ref, "#")
	if !ok || path != "" && path[0] != '/' {
		return false
	}
	path, err := url.PathUnescape(path)
	if err != nil {
		return false
	}
	_, ok = fault.At(doc, path)
	return ok
}

// turned are the keywords where less in the schema within makes more values invalid.
var turned = []string{"not", "if", "oneOf", "contains"}

// dropPart takes the part at a path out of a schema, or as much around it as it takes for
// no value to become invalid. It reports whether there was one.
func dropPart(v any, path []string) bool {
	s, ok := v.(map[string]any)
	if !ok || len(path) == 0 {
		return false
	}
	word, rest := path[0], path[1:]
	inner, ok := s[word]
	if !ok {
		return false
	}
	if len(rest) > 0 && !slices.Contains(turned, word) && dropWithin(word, inner, rest) {
		return true
	}
	delete(s, word)
	if word == "properties" || word == "patternProperties" || word == "prefixItems" {
		for _, others := range []string{"additionalProperties", "unevaluatedProperties", "unevaluatedItems", "items"} {
			delete(s, others) // which are about what those leave
		}
	}
	return true
}

// dropWithin takes a part out of the schemas that stand at a word of another.
func dropWithin(word string, inner any, path []string) bool {
	switch inner := inner.(type) {
	case map[string]any:
		if subschema.IsOne(word) && dropPart(inner, path) {
			return true
		}
		if !subschema.AreNamed(word) {
			return false
		}
		if len(path) > 1 {
			return dropPart(inner[path[0]], path[1:])
		}
		if _, ok := inner[path[0]]; !ok || word == "patternProperties" {
			return false
		}
		inner[path[0]] = map[string]any{}
		return true
	case []any:
		i, err := strconv.Atoi(path[0])
		if !subschema.AreListed(word) || err != nil || i < 0 || i >= len(inner) {
			return false
		}
		if len(path) > 1 {
			return dropPart(inner[i], path[1:])
		}
		inner[i] = map[string]any{}
		return true
	}
	return false
}

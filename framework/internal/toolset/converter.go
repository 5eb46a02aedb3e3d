package toolset

import (
	"bytes"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/fault"
)

// converter converts one document. A nil schema admits anything.
type converter struct {
	doc    any
	output bool
	nodes  int
	around []string // references that are being followed
}

func newConverter(schema json.RawMessage, output bool) *converter {
	c := &converter{output: output}
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	if dec.Decode(&c.doc) != nil {
		c.doc = nil
	}
	return c
}

func (c *converter) convert(schema any, depth int) object {
	c.nodes++
	s, ok := schema.(object)
	if !ok || c.nodes > maxSchemaNodes || depth > maxSchemaDepth {
		return nil
	}
	if ref, ok := s["$ref"].(string); ok {
		return c.follow(ref, s, depth)
	}
	s = c.mergeAllOf(s)
	if value, ok := s["const"]; ok {
		s["enum"] = []any{value}
	}
	types, null := typesOf(s, !c.output)
	if len(types) == 0 {
		if branches, ok := alternatives(s); ok {
			return c.union(s, branches, depth)
		}
		return nil
	}
	var branches []object
	for _, kind := range types {
		branch := c.typed(s, kind, depth)
		if branch == nil {
			return nil
		}
		branches = append(branches, branch)
	}
	return c.joinBranches(branches, null, about(s))
}

// follow converts the target of a reference within the document.
func (c *converter) follow(ref string, s object, depth int) object {
	pointer, local := strings.CutPrefix(ref, "#")
	target, ok := fault.At(c.doc, pointer)
	if !local || !ok || slices.Contains(c.around, pointer) {
		return nil
	}
	c.around = append(c.around, pointer)
	defer func() { c.around = c.around[:len(c.around)-1] }()
	out := c.convert(target, depth)
	if text := about(s); text != "" && out != nil && out["anyOf"] == nil {
		out["description"] = text
	}
	return out
}

// mergeAllOf merges into a schema what allOf demands and, in an input, the members that
// only some of an object's forms have.
func (c *converter) mergeAllOf(s object) object {
	own, isObject := s["properties"].(object)
	s = maps.Clone(s)
	if isObject || s["type"] == "object" {
		s["properties"] = maps.Clone(own)
		if branches, ok := alternatives(s); ok && !c.output {
			s["properties"] = c.withForms(own, branches)
		}
	}
	parts, _ := s["allOf"].([]any)
	for _, part := range parts {
		s = joinedDemand(s, c.target(part))
	}
	return s
}

// target returns the schema itself or the one that it refers to, nil for none.
func (c *converter) target(schema any) object {
	s, _ := schema.(object)
	for range maxSchemaDepth {
		ref, ok := s["$ref"].(string)
		if !ok {
			return s
		}
		at, _ := fault.At(c.doc, strings.TrimPrefix(ref, "#"))
		s, _ = at.(object)
	}
	return nil
}

// withForms returns an object's members with those of its forms.
func (c *converter) withForms(own object, forms []any) object {
	others := map[string][]any{}
	for _, form := range forms {
		members, _ := c.target(form)["properties"].(object)
		for name, schema := range members {
			if _, ok := own[name]; !ok {
				others[name] = append(others[name], schema)
			}
		}
	}
	out := maps.Clone(own)
	if out == nil {
		out = object{}
	}
	for name, schemas := range others {
		out[name] = object{"anyOf": schemas}
	}
	return out
}

// joinedDemand adds the demands of another schema to a schema.
func joinedDemand(s, p object) object {
	if more, ok := p["properties"].(object); ok {
		properties, _ := s["properties"].(object)
		properties = maps.Clone(properties)
		if properties == nil {
			properties = object{}
		}
		for name, schema := range more {
			if _, there := properties[name]; !there {
				properties[name] = schema
			}
		}
		s["properties"] = properties
	}
	for _, key := range []string{"type", "enum", "const", "items", "description"} {
		if s[key] == nil && p[key] != nil {
			s[key] = p[key]
		}
	}
	needs, _ := p["required"].([]any)
	own, _ := s["required"].([]any)
	s["required"] = append(slices.Clone(own), needs...)
	return s
}

// alternatives returns the branches of anyOf or oneOf.
func alternatives(s object) ([]any, bool) {
	for _, key := range []string{"anyOf", "oneOf"} {
		if branches, ok := s[key].([]any); ok {
			return branches, true
		}
	}
	return nil, false
}

// union converts a choice.
func (c *converter) union(s object, from []any, depth int) object {
	var branches []object
	null := false
	for _, b := range from {
		if only, ok := b.(object); ok && only["type"] == "null" {
			null = true
			continue
		}
		one := c.convert(b, depth+1)
		if one == nil {
			return nil
		}
		inner, several := one["anyOf"].([]object)
		if !several {
			inner = []object{one}
		}
		for _, one := range inner {
			if one["type"] == "null" {
				null = true
			} else if !slices.ContainsFunc(branches, func(known object) bool { return sameSchema(known, one) }) {
				branches = append(branches, one)
			}
		}
	}
	return c.joinBranches(branches, null, about(s))
}

// joinBranches joins branches into one schema. The description goes into the first branch:
// nothing may be beside anyOf.
func (c *converter) joinBranches(branches []object, null bool, text string) object {
	if len(branches) == 0 {
		return nil
	}
	if text != "" {
		first := maps.Clone(branches[0])
		first["description"] = text
		branches = append([]object{first}, branches[1:]...)
	}
	if null && c.output {
		branches = append(branches, object{"type": "null"})
	}
	if len(branches) == 1 {
		return branches[0]
	}
	return object{"anyOf": branches}
}

// typesOf returns the types that a schema admits, and whether null is one of them.
// Without a type it admits all; guess takes the one that its keywords are about.
func typesOf(s object, guess bool) (types []string, null bool) {
	add := func(kind any) {
		switch k, ok := kind.(string); {
		case k == "null":
			null = true
		case ok && !slices.Contains(types, k):
			types = append(types, k)
		}
	}
	switch kind := s["type"].(type) {
	case string:
		add(kind)
	case []any:
		for _, k := range kind {
			add(k)
		}
	}
	values, isEnum := s["enum"].([]any)
	if len(types) == 0 && isEnum {
		for _, v := range values {
			add(typeOf(v))
		}
	}
	if slices.Contains(values, nil) {
		null = true
	}
	if len(types) > 0 || null || !guess {
		return types, null
	}
	switch {
	case s["properties"] != nil:
		return []string{"object"}, false
	case s["items"] != nil:
		return []string{"array"}, false
	}
	return nil, false
}

func typeOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case string:
		return "string"
	case []any:
		return "array"
	}
	return "object"
}

// kept are the keywords that are copied unchanged, by type.
var kept = map[string][]string{
	"string":  {"minLength", "maxLength", "pattern"},
	"integer": {"minimum", "maximum"},
	"number":  {"minimum", "maximum"},
	"array":   {"minItems", "maxItems"},
}

// typed converts what a schema says about values of one type, nil if that is not
// portable.
func (c *converter) typed(s object, kind string, depth int) object {
	out := object{"type": kind}
	for _, key := range kept[kind] {
		if v, ok := s[key]; ok {
			out[key] = v
		}
	}
	if v, ok := s["default"]; ok && typeOf(v) == kind && kind != "object" && kind != "array" {
		out["default"] = v
	}
	switch kind {
	case "string":
		if s["format"] == "date-time" {
			out["format"] = "date-time"
		}
		values, _ := s["enum"].([]any)
		if words := texts(values); len(words) > 0 && !slices.Contains(values, any("")) { // Gemini refuses ""
			out["enum"] = words
		}
	case "array":
		items := c.convert(itemsOf(s), depth+1)
		if items == nil && c.output {
			return nil
		}
		if items == nil {
			items = anyOf("object", "string", "number", "boolean")
		}
		out["items"] = items
	case "object":
		c.members(s, out, depth)
	}
	return out
}

// itemsOf returns the schema of a list's elements, tuples included.
func itemsOf(s object) any {
	if places, ok := s["prefixItems"].([]any); ok {
		if more, ok := s["items"].(object); ok {
			places = append(slices.Clone(places), more)
		}
		return object{"anyOf": places}
	}
	if places, ok := s["items"].([]any); ok { // a tuple in older drafts
		return object{"anyOf": places}
	}
	return s["items"]
}

// members converts an object's properties, without those whose name is not portable.
func (c *converter) members(s, out object, depth int) {
	from, _ := s["properties"].(object)
	properties := object{}
	for _, name := range slices.Sorted(maps.Keys(from)) {
		if !propertyName.MatchString(name) || from[name] == false {
			continue
		}
		member := c.convert(from[name], depth+1)
		switch {
		case member != nil:
			properties[name] = member
		case !c.output:
			properties[name] = anything(about(from[name]))
		}
	}
	out["properties"] = properties
	var required []string
	for _, name := range texts(s["required"]) {
		if properties[name] != nil && !slices.Contains(required, name) {
			required = append(required, name)
		}
	}
	if len(required) > 0 {
		out["required"] = required
	}
}

// anything returns a schema of any value.
func anything(text string) object {
	s := anyOf("object", "string", "number", "boolean")
	branches := append(s["anyOf"].([]object), object{"type": "array", "items": anyOf("object", "string", "number", "boolean")})
	if text != "" {
		branches[0]["description"] = text
	}
	return object{"anyOf": branches}
}

func anyOf(kinds ...string) object {
	var branches []object
	for _, kind := range kinds {
		branches = append(branches, simple(kind))
	}
	return object{"anyOf": branches}
}

// texts returns the strings of a list that are not empty.
func texts(list any) []string {
	var out []string
	values, _ := list.([]any)
	for _, v := range values {
		if s, ok := v.(string); ok && s != "" {
			out = append(out, s)
		}
	}
	return out
}

// about returns a schema's description, with what portable keywords cannot say.
func about(schema any) string {
	s, _ := schema.(object)
	text, _ := s["description"].(string)
	if text == "" {
		text, _ = s["title"].(string)
	}
	var more []string
	for _, key := range []string{"format", "contentEncoding"} {
		if word, ok := s[key].(string); ok && !slices.Contains([]string{"date-time", "int32", "int64", "float", "double"}, word) {
			more = append(more, word)
		}
	}
	if values, ok := s["enum"].([]any); ok && len(texts(s["enum"])) == 0 && len(values) <= 20 {
		more = append(more, "one of "+strings.Trim(string(encoded(values)), "[]"))
	}
	if len(more) > 0 {
		text = strings.TrimSpace(strings.TrimRight(text, " .") + " (" + strings.Join(more, ", ") + ")")
	}
	return bounded(text, maxAbout)
}

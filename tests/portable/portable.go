// Package portable checks lists of tools against the rules of model providers and MCP
// clients, as the errors of the services and the code of the clients state them. A list
// that breaks one of them costs some client all of its tools.
//
// What belongs here: rules about a list of tools on the wire. Not here: how such
// a list is made.
package portable

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// Bounds that clients and services have.
const (
	MaxTools       = 128  // OpenAI, VS Code
	MaxDescription = 2048 // Claude Code cuts there
	MaxDepth       = 10   // OpenAI: levels of nesting
)

var (
	toolName     = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)  // OpenAI, Anthropic; Codex and Copilot pass it on
	propertyName = regexp.MustCompile(`^[a-zA-Z0-9_.-]{1,64}$`) // Anthropic
)

// keywords are those of JSON Schema that Gemini's function declarations have too.
var keywords = []string{
	"type", "properties", "required", "items", "anyOf", "enum", "description", "format", "default",
	"minimum", "maximum", "minLength", "maxLength", "pattern", "minItems", "maxItems",
}

// Tool is a tool as a client reads it.
type Tool struct {
	Name         string
	Description  string
	InputSchema  map[string]any
	OutputSchema map[string]any
}

// Read reads the result of tools/list.
func Read(list []byte) ([]Tool, error) {
	var r struct{ Tools []Tool }
	err := json.Unmarshal(list, &r)
	return r.Tools, err
}

// Problems returns the rules that tools break, each with its place. Descriptions of the
// tools named in long may have any length.
func Problems(tools []Tool, long ...string) []string {
	c := &checker{}
	if len(tools) > MaxTools {
		c.problem("tools/list", "has %d tools", len(tools))
	}
	seen := map[string]bool{}
	for _, t := range tools {
		if !toolName.MatchString(t.Name) {
			c.problem(t.Name, "the name is refused by OpenAI and Anthropic")
		}
		if seen[t.Name] {
			c.problem(t.Name, "the name comes twice")
		}
		seen[t.Name] = true
		if len(t.Description) > MaxDescription && !slices.Contains(long, t.Name) {
			c.problem(t.Name, "the description has %d characters", len(t.Description))
		}
		if t.Description == "" {
			c.problem(t.Name, "there is no description")
		}
		c.root(t.Name+" input", t.InputSchema)
		if t.OutputSchema != nil {
			c.root(t.Name+" output", t.OutputSchema)
		}
	}
	return c.found
}

type checker struct{ found []string }

func (c *checker) problem(at, format string, args ...any) {
	c.found = append(c.found, at+": "+fmt.Sprintf(format, args...))
}

// root checks the schema of all arguments, or of the whole result.
func (c *checker) root(at string, s map[string]any) {
	if s["type"] != "object" {
		c.problem(at, "the root is not an object")
	}
	if s["anyOf"] != nil {
		c.problem(at, "Anthropic refuses anyOf at the root")
	}
	s = maps.Clone(s)
	delete(s, "examples") // of the whole tool: clients drop what they do not know there
	c.schema(at, s, 0)
}

func (c *checker) schema(at string, s map[string]any, depth int) {
	if depth > MaxDepth {
		c.problem(at, "is nested too deep")
		return
	}
	for key := range s {
		if !slices.Contains(keywords, key) {
			c.problem(at, "the keyword %s is not known to all", key)
		}
	}
	if branches, ok := s["anyOf"].([]any); ok {
		c.choice(at, s, branches, depth)
		return
	}
	kind, ok := s["type"].(string)
	if !ok {
		c.problem(at, "the type is %v, not one", s["type"])
		return
	}
	c.enum(at, kind, s["enum"])
	if format, ok := s["format"]; ok && format != "date-time" {
		c.problem(at, "Gemini refuses the format %v", format)
	}
	if (kind == "array") != (s["items"] != nil) {
		c.problem(at, "items belong to arrays, and arrays need them")
	}
	if items, ok := s["items"].(map[string]any); ok {
		c.schema(at+"/items", items, depth+1)
	}
	if kind != "object" && (s["properties"] != nil || s["required"] != nil) {
		c.problem(at, "properties belong to objects")
	}
	properties, ok := s["properties"].(map[string]any)
	if kind == "object" && !ok {
		c.problem(at, "OpenAI refuses an object without properties")
	}
	for name, one := range properties {
		member, ok := one.(map[string]any)
		if !ok {
			c.problem(at+"/"+name, "is not a schema object")
			continue
		}
		if !propertyName.MatchString(name) {
			c.problem(at+"/"+name, "Anthropic refuses the name")
		}
		c.schema(at+"/"+name, member, depth+1)
	}
	c.required(at, s, properties)
}

func (c *checker) choice(at string, s map[string]any, branches []any, depth int) {
	if len(s) > 1 {
		c.problem(at, "Gemini refuses anything beside anyOf")
	}
	if len(branches) < 2 {
		c.problem(at, "anyOf has %d branches", len(branches))
	}
	for i, b := range branches {
		one, _ := b.(map[string]any)
		if one["anyOf"] != nil {
			c.problem(at, "anyOf within anyOf")
		}
		if one["type"] == "null" && strings.Contains(at, " input") {
			c.problem(at, "some clients make a list of types of a branch for null")
		}
		c.schema(fmt.Sprintf("%s/%d", at, i), one, depth)
	}
}

func (c *checker) enum(at, kind string, enum any) {
	values, ok := enum.([]any)
	if enum == nil {
		return
	}
	if !ok || len(values) == 0 || kind != "string" {
		c.problem(at, "Gemini knows enums of strings only")
	}
	for _, v := range values {
		if text, ok := v.(string); !ok || text == "" {
			c.problem(at, "Gemini refuses %v in an enum", v)
		}
	}
}

func (c *checker) required(at string, s map[string]any, properties map[string]any) {
	if s["required"] == nil {
		return
	}
	names, ok := s["required"].([]any)
	if !ok || len(names) == 0 {
		c.problem(at, "required is empty")
	}
	for _, n := range names {
		if name, _ := n.(string); properties[name] == nil {
			c.problem(at, "required names %v, which is not among the properties", n)
		}
	}
}

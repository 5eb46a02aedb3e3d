// Package media has files stand for the bytes in results of plugins and of other servers.
//
// What belongs here: the handle of a file, and which parts of an output are media. Not here: where files
// are kept, or how a result is read.
package media

import (
	"encoding/base64"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/koan-go/koan/framework/catalog"
)

// Handle stands in a result for the content of a file (CONTRACT sections 8, 9a and 11): a script reads the file by its
// id, and gives the handle as it is to a plugin or a server.
type Handle struct {
	ID   string `json:"$file"`
	Name string `json:"name"`
	Type string `json:"type"`
	Size int64  `json:"size"`
}

// HandleOf returns the handle of a file.
func HandleOf(f catalog.File) Handle { return Handle{f.ID, f.Name, f.Type, f.Size} }

// handleSchema is the schema of a Handle.
const handleSchema = `{"type":"object","properties":{"$file":{"type":"string","description":"The id of a file."},"name":{"type":"string"},"type":{"type":"string"},"size":{"type":"integer"}},"required":["$file"]}`

// Schema is the schema of outputs in which some texts are media: those of a media type (contentMediaType), in base64
// (contentEncoding) or as they are.
type Schema struct {
	root map[string]any
	defs map[string]any
}

// Read returns what a schema says of media, nil if that is nothing.
func Read(schema json.RawMessage) *Schema {
	if !strings.Contains(string(schema), `"contentMediaType"`) {
		return nil
	}
	var s Schema
	if json.Unmarshal(schema, &s.root) != nil {
		return nil
	}
	s.defs, _ = s.root["$defs"].(map[string]any)
	if !anyMedia(s.root) {
		return nil
	}
	return &s
}

// longText is the length from which on a file stands for a text of a media type, in bytes. One in base64 is always a
// file.
const longText = 64 << 10

// typeOf returns the media type of the texts of a schema, and whether they are in base64; "" for other schemas.
func typeOf(s map[string]any) (mediaType string, encoded bool) {
	mediaType, _ = s["contentMediaType"].(string)
	switch s["contentEncoding"] {
	case "base64":
		return mediaType, true
	case nil:
		return mediaType, false
	}
	return "", false
}

// anyMedia reports whether there are media in a schema.
func anyMedia(schema any) bool {
	switch s := schema.(type) {
	case map[string]any:
		mediaType, _ := typeOf(s)
		return mediaType != "" || slices.ContainsFunc(slices.Collect(maps.Values(s)), anyMedia)
	case []any:
		return slices.ContainsFunc(s, anyMedia)
	}
	return false
}

// WithHandles returns the schema with handles in place of media in base64, and beside texts.
func (s *Schema) WithHandles() (json.RawMessage, error) { return json.Marshal(withHandles(s.root)) }

func withHandles(schema any) any {
	switch s := schema.(type) {
	case map[string]any:
		if mediaType, encoded := typeOf(s); mediaType != "" {
			var handle map[string]any
			_ = json.Unmarshal([]byte(handleSchema), &handle) // it is a constant
			either := handle
			if !encoded {
				text := maps.Clone(s)
				delete(text, "description")
				either = map[string]any{"anyOf": []any{text, handle}}
			}
			if about, ok := s["description"]; ok {
				either["description"] = about
			}
			return either
		}
		out := map[string]any{}
		for name, of := range s {
			out[name] = withHandles(of)
		}
		return out
	case []any:
		out := make([]any, len(s))
		for i := range s {
			out[i] = withHandles(s[i])
		}
		return out
	}
	return schema
}

// Replace puts what keep returns in the place of each text in a value that is media by the schema. What should be
// base64 and is not stays, as does a short text that need not be.
func (s *Schema) Replace(value any, keep func(mediaType string, content []byte) (Handle, error)) (any, error) {
	return s.replace(s.root, value, keep)
}

func (s *Schema) replace(schema, value any, keep func(string, []byte) (Handle, error)) (any, error) {
	of := s.resolve(schema)
	var err error
	switch v := value.(type) {
	case string:
		mediaType, encoded := typeOf(of)
		switch {
		case mediaType == "":
		case encoded:
			if content, err := base64.StdEncoding.DecodeString(v); err == nil {
				return keep(mediaType, content)
			}
		case len(v) > longText:
			return keep(mediaType, []byte(v))
		}
	case []any:
		for i := range v {
			if v[i], err = s.replace(of["items"], v[i], keep); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		properties, _ := of["properties"].(map[string]any)
		for name := range v {
			member, ok := properties[name]
			if !ok {
				member = of["additionalProperties"]
			}
			if v[name], err = s.replace(member, v[name], keep); err != nil {
				return nil, err
			}
		}
	}
	return value, nil
}

// resolve returns what a schema refers to, and of several branches, as of a value that may be null, the first one that
// says more than a type.
func (s *Schema) resolve(schema any) map[string]any {
	of, _ := schema.(map[string]any)
	for range maxSteps {
		if ref, ok := of["$ref"].(string); ok {
			of, _ = s.defs[strings.TrimPrefix(ref, "#/$defs/")].(map[string]any)
			continue
		}
		branches, _ := of["anyOf"].([]any)
		if branches == nil {
			branches, _ = of["oneOf"].([]any)
		}
		i := slices.IndexFunc(branches, func(b any) bool { one, _ := b.(map[string]any); return len(one) > 1 || one["$ref"] != nil })
		if i < 0 {
			return of
		}
		of, _ = branches[i].(map[string]any)
	}
	return nil
}

// maxSteps is how many references and branches lead to a schema.
const maxSteps = 16

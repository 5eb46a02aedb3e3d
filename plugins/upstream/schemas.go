package upstream

import (
	"encoding/json"
	"regexp"
	"strings"

	"github.com/koan-go/koan/framework/schema"
	"github.com/koan-go/koan/plugins/internal/schemasize"
)

// usableInput returns a tool's input schema without what cannot be used of it, and says so:
// in the schema, and in notes. none is why nothing can.
func usableInput(raw json.RawMessage, unusable func(json.RawMessage) string) (usable json.RawMessage, none string, notes []string) {
	if absent(raw) {
		return json.RawMessage(`{"type":"object"}`), "its server gives none", nil
	}
	why := unusable(raw)
	if why == "" {
		return raw, "", nil
	}
	if usable, notes = withoutUnusable(raw); usable != nil {
		return described(usable, "Not checked before a call, since it cannot be used: "+strings.Join(notes, "; ")+"."), "", notes
	}
	note := "its schema cannot be used: " + why
	return described(json.RawMessage(`{"type":"object"}`), note), why, []string{note}
}

// usableOutput returns what can be used of a tool's schema of its structured output, nil if
// it has none or nothing of it can be used.
func usableOutput(raw json.RawMessage, unusable func(json.RawMessage) string) json.RawMessage {
	if absent(raw) {
		return nil
	}
	if unusable(raw) != "" {
		raw, _ = withoutUnusable(raw)
	}
	return raw
}

// withoutUnusable returns a schema without what cannot be used of it, nil if nothing can, and
// what that is.
func withoutUnusable(raw json.RawMessage) (usable json.RawMessage, notes []string) {
	if schemasize.Beyond(raw, maxSchema) != "" {
		return nil, nil
	}
	usable, left, err := schema.Usable(raw)
	if err != nil {
		return nil, nil
	}
	for _, part := range left {
		notes = append(notes, plainText(part.Path+": "+part.Message, 200))
	}
	return usable, notes
}

func absent(raw json.RawMessage) bool { return len(raw) == 0 || string(raw) == "null" }

// anything returns a schema, or the one that accepts all values.
func anything(schema json.RawMessage) json.RawMessage {
	if schema == nil {
		return json.RawMessage("{}")
	}
	return schema
}

// described returns a schema with more in its description.
func described(raw json.RawMessage, more string) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return raw
	}
	var text string
	_ = json.Unmarshal(members["description"], &text) // a description that is not a string is dropped
	members["description"], _ = json.Marshal(strings.TrimSpace(cut(text, maxDescription) + " " + cut(more, 600)))
	out, err := json.Marshal(members)
	if err != nil {
		return raw
	}
	return out
}

// unusable returns why a schema cannot be used as it is, "" if it can, or is not there.
func unusable(raw json.RawMessage) string {
	if absent(raw) {
		return ""
	}
	if why := schemasize.Beyond(raw, maxSchema); why != "" {
		return why
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return "it is not an object"
	}
	if err := new(schema.Cache).Compile(raw); err != nil {
		return plainText(ownName.ReplaceAllString(err.Error(), "it"), 200)
	}
	return ""
}

// ownName is the validator's name of a schema without one.
var ownName = regexp.MustCompile(`"file://[^"]*/schema\.json#?"`)

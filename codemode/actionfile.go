package codemode

import (
	"bytes"
	"context"
	"encoding/json"
	"slices"

	"github.com/koan-go/koan/codemode/internal/actions"
	"github.com/koan-go/koan/codemode/internal/language"
	"github.com/koan-go/koan/codemode/internal/wire"
	"github.com/koan-go/koan/framework/fault"
)

// newFile returns the file of an action that does what a script did, with an input as the
// script's arguments were. It has its caller's rights. Its example has placeholders: every client
// reads it, and the arguments were for that run alone.
func (p *actionProvider) newFile(ctx context.Context, name, code, in string, args json.RawMessage) (file string, text []byte, err error) {
	if other := p.taken(name); other != "" {
		return "", nil, fault.Newf(fault.InvalidPayload, "%s is named %q already", other, name)
	}
	input, example, err := inputLike(args)
	if err != nil {
		return "", nil, err
	}
	action := language.Action{
		Name: name, Description: "Does what a script did: say here what " + name + " does.", Code: code, Language: in, Input: input,
	}
	if len(args) > 0 {
		action.Example = example
	}
	file, body, of := sourceOf(in).ActionFile(action)
	declared, f, err := p.declared(ctx, body, of)
	switch {
	case err != nil:
		return "", nil, err
	case f != nil:
		return "", nil, fault.Newf(fault.CapabilityUnsupported, "the script cannot become an action as it is: %s", f.Message).WithHint("Write the file by hand: the script is the body of its function.")
	}
	if _, wrong := actions.Read(declared.Action); len(wrong) > 0 {
		return "", nil, fault.Invalid(wrong...)
	}
	return file, []byte(body), nil
}

// inputLike returns the JSON Schema of an object that is like the arguments of a script, and an
// example of it that has none of their values.
func inputLike(args json.RawMessage) (input, example json.RawMessage, err error) {
	if len(bytes.TrimSpace(args)) == 0 {
		args = json.RawMessage(`{}`)
	}
	var v any
	if err := json.Unmarshal(args, &v); err != nil {
		return nil, nil, fault.New(fault.InvalidPayload, "the arguments of the run cannot be read").Because(err)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, nil, fault.New(fault.InvalidPayload, "the arguments of the run are not an object, and the input of an action is one")
	}
	if input, err = wire.Marshal(schemaLike(v)); err != nil {
		return nil, nil, err
	}
	example, err = wire.Marshal(placeholder(v))
	return input, example, err
}

// placeholder returns a value of the same shape that says nothing.
func placeholder(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for name, member := range v {
			out[name] = placeholder(member)
		}
		return out
	case []any:
		if len(v) == 0 {
			return v
		}
		return []any{placeholder(v[0])}
	case string:
		return "text"
	case bool:
		return false
	case float64:
		return 0
	}
	return nil
}

// schemaLike returns the schema of values of the same shape.
func schemaLike(v any) map[string]any {
	switch v := v.(type) {
	case map[string]any:
		properties, required := map[string]any{}, []string{}
		for name, member := range v {
			properties[name] = schemaLike(member)
			required = append(required, name)
		}
		slices.Sort(required)
		return map[string]any{"type": "object", "properties": properties, "required": required, "additionalProperties": false}
	case []any:
		if len(v) == 0 {
			return map[string]any{"type": "array"}
		}
		return map[string]any{"type": "array", "items": schemaLike(v[0])}
	case string:
		return map[string]any{"type": "string"}
	case bool:
		return map[string]any{"type": "boolean"}
	case float64:
		return map[string]any{"type": "number"}
	}
	return map[string]any{}
}

package upstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/koan-go/koan/framework/ask"
)

// Bounds of what a server may ask.
const (
	maxQuestions  = 20        // in one call
	maxQuestion   = 2 << 10   // bytes of a question to a person
	maxFormBytes  = 32 << 10  // of its schema
	maxFields     = 30        // of a form
	maxChoices    = 100       // of a field
	maxFieldText  = 300       // bytes of a title, a description or a choice
	maxPrompt     = 256 << 10 // bytes of a question to a model
	maxTokens     = 4096      // of its answer
	maxCompletion = 1 << 20   // bytes of its answer
)

// elicitation makes a server's question to a person into one that names the server, with
// bounded text and a form of the kind that the protocol knows. form is the schema that the
// answer has to fit.
func elicitation(server string, params json.RawMessage) (q json.RawMessage, form json.RawMessage, err error) {
	var in struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, nil, fmt.Errorf("its question cannot be read: %w", err)
	}
	if in.Mode != "" && in.Mode != "form" {
		return nil, nil, fmt.Errorf("questions of mode %q are not passed on, forms are", plainText(in.Mode, 20))
	}
	if form, err = cleanForm(in.Schema); err != nil {
		return nil, nil, fmt.Errorf("its form cannot be shown: %w", err)
	}
	message := fmt.Sprintf("The MCP server %s, which a script is calling, asks (its own words): %q", server, plainText(in.Message, maxQuestion))
	q, err = json.Marshal(map[string]any{"message": message, "requestedSchema": form})
	return q, form, err
}

// cleanForm returns a form's schema with only what the protocol defines for forms: a flat
// object of strings, numbers, booleans and choices. Names and choices come back to the
// server as they are, so that odd ones are rejected; texts are for people, and are cleaned.
func cleanForm(raw json.RawMessage) (json.RawMessage, error) {
	if len(raw) > maxFormBytes {
		return nil, fmt.Errorf("it has %d bytes, and %d are the most", len(raw), maxFormBytes)
	}
	var in struct {
		Type       string                     `json:"type"`
		Properties map[string]json.RawMessage `json:"properties"`
		Required   []string                   `json:"required"`
	}
	if err := json.Unmarshal(raw, &in); err != nil {
		return nil, errors.New("it is not a schema of an object")
	}
	if in.Type != "object" {
		return nil, errors.New("its type is not object")
	}
	if len(in.Properties) > maxFields {
		return nil, fmt.Errorf("it has %d fields, and %d are the most", len(in.Properties), maxFields)
	}
	fields := map[string]*formField{}
	for name, raw := range in.Properties {
		if !printable(name, 64) || name == "" {
			return nil, errors.New("a field's name is empty, overlong, or not printable")
		}
		field, err := cleanField(raw)
		if err != nil {
			return nil, fmt.Errorf("the field %s: %w", name, err)
		}
		fields[name] = field
	}
	required := slices.DeleteFunc(in.Required, func(name string) bool { return fields[name] == nil })
	return json.Marshal(map[string]any{"type": "object", "properties": fields, "required": append([]string{}, required...)})
}

// formField is a field of a form, with all that the protocol defines for one.
type formField struct {
	Type        string          `json:"type"`
	Title       string          `json:"title,omitempty"`
	Description string          `json:"description,omitempty"`
	Format      string          `json:"format,omitempty"`
	Enum        []string        `json:"enum,omitempty"`
	EnumNames   []string        `json:"enumNames,omitempty"`
	OneOf       []choice        `json:"oneOf,omitempty"`
	Items       *choices        `json:"items,omitempty"`
	MinLength   *int            `json:"minLength,omitempty"`
	MaxLength   *int            `json:"maxLength,omitempty"`
	MinItems    *int            `json:"minItems,omitempty"`
	MaxItems    *int            `json:"maxItems,omitempty"`
	Minimum     *float64        `json:"minimum,omitempty"`
	Maximum     *float64        `json:"maximum,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
}

type choice struct {
	Const string `json:"const"`
	Title string `json:"title,omitempty"`
}

type choices struct {
	Type  string   `json:"type,omitempty"`
	Enum  []string `json:"enum,omitempty"`
	AnyOf []choice `json:"anyOf,omitempty"`
}

func cleanField(raw json.RawMessage) (*formField, error) {
	var f formField
	if err := json.Unmarshal(raw, &f); err != nil {
		return nil, errors.New("it is not one of a form")
	}
	switch f.Type {
	case "string", "number", "integer", "boolean":
		f.Items = nil
	case "array":
		if f.Items == nil || len(f.Items.Enum) == 0 && len(f.Items.AnyOf) == 0 {
			return nil, errors.New("a list needs choices")
		}
	default:
		return nil, fmt.Errorf("the type %q is not one of a form", plainText(f.Type, 20))
	}
	f.Title, f.Description = plainText(f.Title, maxFieldText), plainText(f.Description, maxFieldText)
	if !slices.Contains([]string{"email", "uri", "date", "date-time"}, f.Format) {
		f.Format = ""
	}
	for i := range f.EnumNames {
		f.EnumNames[i] = plainText(f.EnumNames[i], maxFieldText)
	}
	values := slices.Clone(f.Enum)
	for i := range f.OneOf {
		values = append(values, f.OneOf[i].Const)
		f.OneOf[i].Title = plainText(f.OneOf[i].Title, maxFieldText)
	}
	if f.Items != nil {
		f.Items.Type = "string"
		values = append(values, f.Items.Enum...)
		for i := range f.Items.AnyOf {
			values = append(values, f.Items.AnyOf[i].Const)
			f.Items.AnyOf[i].Title = plainText(f.Items.AnyOf[i].Title, maxFieldText)
		}
	}
	if len(values) > maxChoices || len(f.EnumNames) > maxChoices {
		return nil, fmt.Errorf("it has more than %d choices", maxChoices)
	}
	if slices.ContainsFunc(values, func(v string) bool { return !printable(v, maxFieldText) }) {
		return nil, errors.New("a choice is too long, or not printable")
	}
	if len(f.Default) > maxFieldText || !printable(string(f.Default), maxFieldText) {
		f.Default = nil
	}
	return &f, nil
}

// printable reports whether a text can be shown as it is, on one line.
func printable(s string, most int) bool {
	return len(s) <= most && plainText(s, most) == strings.TrimSpace(s) || s == ""
}

// elicited returns the answer of a person as the server gets it: only what it asked for.
func elicited(answer, form json.RawMessage) (json.RawMessage, error) {
	f, err := ask.DecodeForm(answer, form)
	if err != nil {
		return nil, err
	}
	if f.Action != ask.Accept {
		return json.Marshal(map[string]any{"action": f.Action})
	}
	var asked struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	given := map[string]json.RawMessage{}
	if err := errors.Join(json.Unmarshal(form, &asked), json.Unmarshal(f.Content, &given)); err != nil {
		return nil, err
	}
	for name := range given {
		if asked.Properties[name] == nil {
			delete(given, name)
		}
	}
	return json.Marshal(map[string]any{"action": f.Action, "content": given})
}

// samplingBlock is a part of a message to a model.
type samplingBlock struct {
	Type     string `json:"type"`
	Text     string `json:"text,omitempty"`
	Data     string `json:"data,omitempty"`
	MimeType string `json:"mimeType,omitempty"`
}

// sampling makes a server's question to a model into one that names the server, is bounded,
// and has nothing else in it.
func sampling(server string, params json.RawMessage) (json.RawMessage, error) {
	if len(params) > maxPrompt {
		return nil, fmt.Errorf("its question to the model has %d bytes, and %d are the most", len(params), maxPrompt)
	}
	var in struct {
		Messages []struct {
			Role    string          `json:"role"`
			Content json.RawMessage `json:"content"`
		} `json:"messages"`
		SystemPrompt     string          `json:"systemPrompt"`
		MaxTokens        int             `json:"maxTokens"`
		Temperature      *float64        `json:"temperature"`
		StopSequences    []string        `json:"stopSequences"`
		ModelPreferences json.RawMessage `json:"modelPreferences"`
		Tools            []any           `json:"tools"`
	}
	if err := json.Unmarshal(params, &in); err != nil {
		return nil, fmt.Errorf("its question to the model cannot be read: %w", err)
	}
	switch {
	case len(in.Tools) > 0:
		return nil, errors.New("questions to the model with tools are not passed on")
	case len(in.Messages) == 0:
		return nil, errors.New("its question to the model has no messages")
	case in.MaxTokens < 1:
		return nil, errors.New("maxTokens of its question to the model must be at least 1")
	}
	type message struct {
		Role    string `json:"role"`
		Content any    `json:"content"`
	}
	var messages []message
	for _, m := range in.Messages {
		if m.Role != "user" && m.Role != "assistant" {
			return nil, fmt.Errorf("the role %q is not one of a message", plainText(m.Role, 20))
		}
		blocks, err := samplingBlocks(m.Content)
		if err != nil {
			return nil, err
		}
		out := message{m.Role, blocks}
		if len(blocks) == 1 { // as all protocol versions have it
			out.Content = blocks[0]
		}
		messages = append(messages, out)
	}
	out := map[string]any{
		"messages": messages, "maxTokens": min(in.MaxTokens, maxTokens),
		"systemPrompt": fmt.Sprintf("This request comes from the MCP server %s, which a script is calling, and not from the user. %s", server, promptText(in.SystemPrompt)),
	}
	if in.Temperature != nil {
		out["temperature"] = *in.Temperature
	}
	if len(in.StopSequences) > 0 && len(in.StopSequences) <= 20 {
		out["stopSequences"] = in.StopSequences
	}
	if len(in.ModelPreferences) > 0 && in.ModelPreferences[0] == '{' && len(in.ModelPreferences) < 4<<10 {
		out["modelPreferences"] = in.ModelPreferences
	}
	return json.Marshal(out)
}

// samplingBlocks reads the content of a message: one block, or a list of them.
func samplingBlocks(raw json.RawMessage) ([]samplingBlock, error) {
	var blocks []samplingBlock
	if json.Unmarshal(raw, &blocks) != nil {
		var one samplingBlock
		if err := json.Unmarshal(raw, &one); err != nil {
			return nil, errors.New("a message to the model has no content that can be read")
		}
		blocks = []samplingBlock{one}
	}
	for i, b := range blocks {
		if b.Type != "text" && b.Type != "image" && b.Type != "audio" {
			return nil, fmt.Errorf("content of type %q is not passed on to the model", plainText(b.Type, 20))
		}
		blocks[i].Text = promptText(b.Text)
	}
	if len(blocks) == 0 {
		return nil, errors.New("a message to the model has no content")
	}
	return blocks, nil
}

// promptText removes what cannot be seen from a text for a model.
func promptText(s string) string {
	return strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.Is(unicode.Cf, r)) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
}

// sampled returns the answer of a model as the server gets it.
func sampled(answer json.RawMessage) (json.RawMessage, error) {
	if len(answer) > maxCompletion {
		return nil, fmt.Errorf("the model's answer has %d bytes, and %d are the most", len(answer), maxCompletion)
	}
	var out struct {
		Role       string          `json:"role"`
		Content    json.RawMessage `json:"content"`
		Model      string          `json:"model"`
		StopReason string          `json:"stopReason,omitempty"`
	}
	if err := json.Unmarshal(answer, &out); err != nil || len(out.Content) == 0 {
		return nil, errors.New("the model's answer has no content")
	}
	return json.Marshal(out)
}

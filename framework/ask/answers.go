package ask

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/koan-go/koan/framework/exact"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/schema"
)

// Action is what a user did with a form.
type Action string

// What a user may do: fill in the form, refuse, or close it.
const (
	Accept  Action = "accept"
	Decline Action = "decline"
	Cancel  Action = "cancel"
)

// Form is a user's answer.
type Form struct {
	Action Action `json:"action"`
	// Content is an object that is valid by the form's schema, if Action is Accept.
	Content json.RawMessage `json:"content"`
}

// FormQuestion is the question of Elicit, for All.
func FormQuestion(key, message string, form json.RawMessage) Question {
	params, err := json.Marshal(map[string]any{"message": message, "requestedSchema": form})
	if err != nil {
		panic(fmt.Sprintf("ask: the form of %q is not JSON: %v", key, err))
	}
	return Question{Key: key, Method: Elicitation, Params: params}
}

// Elicit asks the user to fill in a form. Its schema is a flat object of strings, numbers,
// booleans and enums, as the protocol specifies ("Elicitation", requested schema). An
// answer that is not valid by it is upstream_error.
func Elicit(ctx context.Context, key, message string, form json.RawMessage) (Form, error) {
	got, err := All(ctx, FormQuestion(key, message, form))
	if err != nil {
		return Form{}, err
	}
	return DecodeForm(got[0], form)
}

// DecodeForm reads the answer to a FormQuestion.
func DecodeForm(answer, form json.RawMessage) (Form, error) {
	members, err := exact.Members(answer)
	if err != nil {
		return Form{}, invalidAnswer(Elicitation, "", err.Error())
	}
	f := Form{Content: members["content"]}
	if raw := members["action"]; raw != nil && json.Unmarshal(raw, &f.Action) != nil {
		return Form{}, invalidAnswer(Elicitation, "/action", "it is not a string")
	}
	switch f.Action {
	case Decline, Cancel:
		return Form{Action: f.Action}, nil
	case Accept:
	default:
		return Form{}, invalidAnswer(Elicitation, "/action", fmt.Sprintf("%q is not an action; it must be accept, decline or cancel", fault.Clip(string(f.Action), 64)))
	}
	if len(f.Content) == 0 || string(f.Content) == "null" {
		f.Content = json.RawMessage("{}")
	}
	if err := schema.Check(form, f.Content); err != nil {
		wrong := fault.From(err)
		if wrong.Code == fault.InvalidPayload {
			return Form{}, invalidAnswer(Elicitation, "/content"+wrong.Path, wrong.Message)
		}
		return Form{}, wrong
	}
	return f, nil
}

// Text asks the client's model to respond to a user's message, in at most tokens tokens,
// and returns the text of the response.
func Text(ctx context.Context, key, message string, tokens int) (string, error) {
	got, err := All(ctx, TextQuestion(key, message, tokens))
	if err != nil {
		return "", err
	}
	return DecodeText(got[0])
}

// TextQuestion is the question of Text, for All.
func TextQuestion(key, message string, tokens int) Question {
	params, _ := json.Marshal(map[string]any{ // texts and numbers only
		"messages":  []any{map[string]any{"role": "user", "content": map[string]any{"type": "text", "text": message}}},
		"maxTokens": tokens,
	})
	return Question{Key: key, Method: Sampling, Params: params}
}

// DecodeText reads the answer to a TextQuestion: one block of text, or the text
// blocks of a list.
func DecodeText(answer json.RawMessage) (string, error) {
	type block struct {
		Type string  `json:"type"`
		Text *string `json:"text"`
	}
	var m struct {
		Content json.RawMessage `json:"content"`
	}
	if err := decode(Sampling, answer, &m); err != nil {
		return "", err
	}
	var blocks []block
	if json.Unmarshal(m.Content, &blocks) != nil {
		var one block
		if json.Unmarshal(m.Content, &one) != nil {
			return "", invalidAnswer(Sampling, "/content", "there is no content")
		}
		blocks = []block{one}
	}
	var text bytes.Buffer
	found := false
	for _, b := range blocks {
		if b.Type == "text" && b.Text != nil {
			text.WriteString(*b.Text)
			found = true
		}
	}
	if !found {
		return "", invalidAnswer(Sampling, "/content", "it has no text")
	}
	return text.String(), nil
}

// Root is a folder or file that the client works with.
type Root struct {
	URI  string `json:"uri"`
	Name string `json:"name,omitempty"`
}

// ListRoots asks for the client's roots.
func ListRoots(ctx context.Context, key string) ([]Root, error) {
	got, err := All(ctx, RootsQuestion(key))
	if err != nil {
		return nil, err
	}
	return DecodeRoots(got[0])
}

// RootsQuestion is the question of ListRoots, for All.
func RootsQuestion(key string) Question { return Question{Key: key, Method: Roots} }

// DecodeRoots reads the answer to a RootsQuestion.
func DecodeRoots(answer json.RawMessage) ([]Root, error) {
	var r struct {
		Roots *[]Root `json:"roots"`
	}
	if err := decode(Roots, answer, &r); err != nil {
		return nil, err
	}
	if r.Roots == nil {
		return nil, invalidAnswer(Roots, "/roots", "the roots are missing")
	}
	for i, root := range *r.Roots {
		if root.URI == "" {
			return nil, invalidAnswer(Roots, fmt.Sprintf("/roots/%d/uri", i), "the uri is missing")
		}
	}
	return *r.Roots, nil
}

func decode(method string, answer json.RawMessage, into any) error {
	if answer = bytes.TrimSpace(answer); len(answer) == 0 || answer[0] != '{' {
		return invalidAnswer(method, "", "it is not an object")
	}
	if err := json.Unmarshal(answer, into); err != nil {
		return invalidAnswer(method, "", err.Error())
	}
	return nil
}

// invalidAnswer is the fault of an answer that does not follow the protocol.
func invalidAnswer(method, path, why string) error {
	return fault.Newf(fault.UpstreamError, "the client's answer to %s is not valid: %s", method, why).
		WithHint("The client must answer as the protocol specifies.").WithPath(path)
}

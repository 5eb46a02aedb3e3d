package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/catalog"
)

// asker makes a tool that asks the client and returns the answer, as the suites prescribe.
// The old suites pass an argument to some.
func asker(name, input string, do func(context.Context, catalog.Call) (string, error)) *catalog.Operation {
	op := suiteTool("test", name, nil)
	op.Input = json.RawMessage(input)
	op.Handler = func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
		said, err := do(ctx, c)
		if err != nil {
			return nil, err
		}
		return json.Marshal(map[string]string{"said": said})
	}
	op.Present = func(output json.RawMessage) []catalog.Content {
		var o struct{ Said string }
		_ = json.Unmarshal(output, &o) // written above
		return []catalog.Content{{Text: o.Said}}
	}
	return op
}

const noInput = `{"type":"object"}`

// one is a form with one field.
func one(field, kind string) json.RawMessage {
	return fmt.Appendf(nil, `{"type":"object","properties":{%q:{"type":%q}},"required":[%q]}`, field, kind, field)
}

// filled makes a tool that has a form filled in.
func filled(name, key, message string, form json.RawMessage) *catalog.Operation {
	return asker(name, noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
		f, err := ask.Elicit(ctx, key, message, form)
		return fmt.Sprintf("state-ok: action=%s, content=%s", f.Action, f.Content), err
	})
}

func askingTools() []*catalog.Operation {
	name, capital := one("name", "string"), "What is the capital of France?"
	return []*catalog.Operation{
		// Suites of 2025-11-25 and before.
		asker("sampling", `{"type":"object","properties":{"prompt":{"type":"string"}},"required":["prompt"]}`, func(ctx context.Context, c catalog.Call) (string, error) {
			var in struct{ Prompt string }
			_ = json.Unmarshal(c.Input(), &in) // it fits the schema
			text, err := ask.Text(ctx, "sampling", in.Prompt, 100)
			return "LLM response: " + text, err
		}),
		asker("elicitation", `{"type":"object","properties":{"message":{"type":"string"}},"required":["message"]}`, func(ctx context.Context, c catalog.Call) (string, error) {
			var in struct{ Message string }
			_ = json.Unmarshal(c.Input(), &in)
			f, err := ask.Elicit(ctx, "user", in.Message, json.RawMessage(userForm))
			return fmt.Sprintf("User response: action=%s, content=%s", f.Action, f.Content), err
		}),
		filled("elicitation_sep1034_defaults", "defaults", "Please review.", json.RawMessage(defaultsForm)),
		filled("elicitation_sep1330_enums", "enums", "Please choose.", json.RawMessage(enumsForm)),
		// Suite of 2026-07-28.
		filled("input_required_result_elicitation", "user_name", "What is your name?", name),
		filled("input_required_result_request_state", "confirm", "Please confirm", one("ok", "boolean")),
		filled("input_required_result_tampered_state", "confirm", "Please confirm", one("ok", "boolean")),
		filled("streaming_elicitation", "user_name", "What is your name?", name),
		asker("input_required_result_sampling", noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
			return ask.Text(ctx, "capital_question", capital, 100)
		}),
		asker("missing_capability", noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
			return ask.Text(ctx, "capital_question", capital, 100)
		}),
		asker("input_required_result_list_roots", noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
			roots, err := ask.ListRoots(ctx, "client_roots")
			return fmt.Sprint(roots), err
		}),
		asker("input_required_result_multiple_inputs", noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
			got, err := ask.All(ctx, ask.FormQuestion("user_name", "What is your name?", name),
				ask.TextQuestion("greeting", "Generate a greeting", 50), ask.RootsQuestion("client_roots"))
			if err != nil {
				return "", err
			}
			return string(got[0]) + string(got[1]) + string(got[2]), nil
		}),
		asker("input_required_result_multi_round", noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
			who, err := ask.Elicit(ctx, "step1", "What is your name?", name)
			if err != nil {
				return "", err
			}
			colour, err := ask.Elicit(ctx, "step2", "What is your favorite color?", one("color", "string"))
			return string(who.Content) + string(colour.Content), err
		}),
		asker("input_required_result_capabilities", noInput, func(ctx context.Context, _ catalog.Call) (string, error) {
			var can []ask.Question
			for _, q := range []ask.Question{ask.FormQuestion("user_name", "What is your name?", name), ask.TextQuestion("capital_question", capital, 100)} {
				if ask.From(ctx).Can(q) {
					can = append(can, q)
				}
			}
			got, err := ask.All(ctx, can...)
			return fmt.Sprint(len(got)), err
		}),
	}
}

func askingPrompt() *catalog.Prompt {
	return &catalog.Prompt{
		Name: "test_input_required_result_prompt", Description: "Asks for its context.",
		Render: func(ctx context.Context, _ *catalog.View, _ map[string]string) ([]catalog.Message, error) {
			f, err := ask.Elicit(ctx, "user_context", "What context should the prompt use?", one("context", "string"))
			if err != nil {
				return nil, err
			}
			return []catalog.Message{{Content: catalog.Content{Text: "Use the context " + strings.TrimSpace(string(f.Content))}}}, nil
		},
	}
}

const userForm = `{"type":"object","properties":{"username":{"type":"string","description":"User's response"},
"email":{"type":"string","description":"User's email address"}},"required":["username","email"]}`

const defaultsForm = `{"type":"object","properties":{"name":{"type":"string","default":"John Doe"},"age":{"type":"integer","default":30},
"score":{"type":"number","default":95.5},"status":{"type":"string","enum":["active","inactive","pending"],"default":"active"},
"verified":{"type":"boolean","default":true}},"required":[]}`

const enumsForm = `{"type":"object","properties":{"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
"titledSingle":{"type":"string","oneOf":[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},{"const":"value3","title":"Third Option"}]},
"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
"untitledMulti":{"type":"array","items":{"type":"string","enum":["option1","option2","option3"]}},
"titledMulti":{"type":"array","items":{"anyOf":[{"const":"value1","title":"First Choice"},{"const":"value2","title":"Second Choice"},{"const":"value3","title":"Third Choice"}]}}},"required":[]}`

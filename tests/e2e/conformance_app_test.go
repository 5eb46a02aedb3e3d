package e2e

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
)

// asConformance makes this test binary the app that the protocol's conformance
// suite asks for: its tools, resources and prompts have names and contents that
// the suite prescribes.
const asConformance = "KOANTEST_CONFORMANCE"

func conformanceApp() framework.App {
	return framework.App{Name: "conformance", Version: "1.2.3", Description: "What the suite asks for.", Defaults: map[string]string{"codeMode.enabled": "false"}, Providers: []framework.Provider{suiteProvider{}}}
}

type suiteProvider struct{}

func (suiteProvider) Name() string                              { return "suite" }
func (suiteProvider) Start(context.Context, catalog.Host) error { return nil }
func (suiteProvider) Stop(context.Context) error                { return nil }

// picture is a PNG of one red pixel, sound a WAV without samples.
var (
	picture, _ = base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg==")
	sound, _   = base64.StdEncoding.DecodeString("UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA=")
)

func (suiteProvider) Offer() catalog.Offer {
	text := catalog.Content{Text: "This is a simple text response for testing."}
	image := catalog.Content{Data: picture, MIME: "image/png"}
	offer := catalog.Offer{Documents: suiteDocuments(), Prompts: suitePrompts(image)}
	for name, content := range map[string][]catalog.Content{
		"simple_text":       {text},
		"image_content":     {image},
		"audio_content":     {{Data: sound, MIME: "audio/wav"}},
		"embedded_resource": {{URI: "test://embedded-resource", MIME: "text/plain", Text: "This is an embedded resource content."}},
		"multiple_content_types": {
			{Text: "Multiple content types test:"},
			image,
			{URI: "test://mixed-content-resource", MIME: "application/json", Text: `{"test":"data","value":123}`},
		},
	} {
		op := suiteTool("test", name, func(context.Context, catalog.Call) error { return nil })
		op.Present = func(json.RawMessage) []catalog.Content { return content }
		offer.Operations = append(offer.Operations, op)
	}
	schema := suiteTool("json", "schema_2020_12_tool", func(context.Context, catalog.Call) error { return nil })
	schema.Input, schema.InputAsItIs = json.RawMessage(suiteSchema), true
	offer.Operations = append(offer.Operations, schema,
		suiteTool("test", "error_handling", func(context.Context, catalog.Call) error {
			return fault.New(fault.Conflict, "This tool intentionally returns an error for testing")
		}),
		suiteTool("test", "tool_with_logging", func(_ context.Context, c catalog.Call) error {
			for _, message := range []string{"Tool execution started", "Tool processing data", "Tool execution completed"} {
				c.Log(slog.LevelInfo, message)
				time.Sleep(50 * time.Millisecond)
			}
			return nil
		}),
		suiteTool("test", "logging_tool", func(_ context.Context, c catalog.Call) error {
			c.Log(slog.LevelError, "nobody asked")
			return nil
		}),
		suiteTool("test", "tool_with_progress", func(_ context.Context, c catalog.Call) error {
			for i := range 3 {
				c.Progress(float64(i*50), 100, "")
				time.Sleep(120 * time.Millisecond)
			}
			return nil
		}),
	)
	offer.Operations = append(append(offer.Operations, askingTools()...), takingTools()...)
	offer.Prompts = append(offer.Prompts, askingPrompt())
	return offer
}

func suiteTool(server, name string, do func(context.Context, catalog.Call) error) *catalog.Operation {
	return &catalog.Operation{
		ID: catalog.ID{Kind: catalog.KindUpstream, Owner: server, Op: name},
		Contract: catalog.Contract{
			Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`),
		},
		Listing: catalog.Listing{Title: name, Summary: "Is there for the suite.", Reach: catalog.ReachTools},
		Work: catalog.Work{
			Handler: func(ctx context.Context, c catalog.Call) (json.RawMessage, error) {
				return json.RawMessage(`{}`), do(ctx, c)
			},
		},
	}
}

const suiteSchema = `{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object",
"$defs":{"address":{"$anchor":"addressDef","type":"object","properties":{"street":{"type":"string"},"city":{"type":"string"}}}},
"properties":{"name":{"type":"string"},"address":{"$ref":"#/$defs/address"},"contactMethod":{"type":"string","enum":["phone","email"]},"phone":{"type":"string"},"email":{"type":"string"}},
"allOf":[{"anyOf":[{"required":["phone"]},{"required":["email"]}]}],
"if":{"properties":{"contactMethod":{"const":"phone"}},"required":["contactMethod"]},"then":{"required":["phone"]},"else":{"required":["email"]},
"additionalProperties":false}`

func suiteDocuments() []*catalog.Document {
	fixed := func(raw []byte) func(context.Context, *catalog.View, string) ([]byte, error) {
		return func(context.Context, *catalog.View, string) ([]byte, error) { return raw, nil }
	}
	return []*catalog.Document{
		{URI: "test://static-text", Name: "text", MIME: "text/plain", Read: fixed([]byte("This is the content of the static text resource."))},
		{URI: "test://static-binary", Name: "binary", MIME: "image/png", Read: fixed(picture)},
		{URI: "test://watched-resource", Name: "watched", MIME: "text/plain", Read: fixed([]byte("Watch me."))},
		{
			URI: "test://template/{id}/data", Name: "template", MIME: "application/json", Template: true,
			List: func(*catalog.View) []string { return []string{"123", "124"} },
			Read: func(_ context.Context, _ *catalog.View, id string) ([]byte, error) {
				return fmt.Appendf(nil, `{"id":%q,"templateTest":true,"data":"Data for ID: %s"}`, id, id), nil
			},
		},
	}
}

func suitePrompts(image catalog.Content) []*catalog.Prompt {
	says := func(contents ...catalog.Content) ([]catalog.Message, error) {
		var out []catalog.Message
		for _, c := range contents {
			out = append(out, catalog.Message{Content: c})
		}
		return out, nil
	}
	required := func(name string, values ...string) catalog.Argument {
		return catalog.Argument{
			Name: name, Description: "For the suite.", Required: true,
			Complete: func(_ *catalog.View, typed string) []string { return catalog.Beginning(values, typed) },
		}
	}
	return []*catalog.Prompt{
		{
			Name: "test_simple_prompt", Description: "Has no arguments.",
			Render: func(context.Context, *catalog.View, map[string]string) ([]catalog.Message, error) {
				return says(catalog.Content{Text: "This is a simple prompt for testing."})
			},
		},
		{
			Name: "test_prompt_with_arguments", Description: "Has two arguments.",
			Arguments: []catalog.Argument{required("arg1", "paris", "park", "test"), required("arg2")},
			Render: func(_ context.Context, _ *catalog.View, a map[string]string) ([]catalog.Message, error) {
				return says(catalog.Content{Text: "Prompt with arguments: arg1='" + a["arg1"] + "', arg2='" + a["arg2"] + "'"})
			},
		},
		{
			Name: "test_prompt_with_embedded_resource", Description: "Embeds a resource.",
			Arguments: []catalog.Argument{required("resourceUri")},
			Render: func(_ context.Context, _ *catalog.View, a map[string]string) ([]catalog.Message, error) {
				return says(catalog.Content{URI: a["resourceUri"], MIME: "text/plain", Text: "Embedded resource content for testing."},
					catalog.Content{Text: "Please process the embedded resource above."})
			},
		},
		{
			Name: "test_prompt_with_image", Description: "Has a picture.",
			Render: func(context.Context, *catalog.View, map[string]string) ([]catalog.Message, error) {
				return says(image, catalog.Content{Text: "Please analyze the image above."})
			},
		},
	}
}

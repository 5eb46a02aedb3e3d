package upstream

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
)

func FuzzElicitation(f *testing.F) {
	for _, seed := range []string{
		`{"message":"Who?","requestedSchema":{"type":"object","properties":{"a":{"type":"string","enum":["x"],"default":"x"}},"required":["a","b"]}}`,
		`{"message":"a\nb","requestedSchema":{"type":"object","properties":{"a":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]}}}}}`,
		`{"mode":"url"}`, `{"requestedSchema":{"type":"object","properties":{"a":{"type":"integer","minimum":1e999}}}}`, `[]`, `{"requestedSchema":null}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, params string) {
		q, form, err := elicitation("x", json.RawMessage(params))
		if err != nil {
			require.True(t, utf8.ValidString(err.Error()) || !utf8.ValidString(params))
			return
		}
		var asked struct{ Message string }
		require.NoError(t, json.Unmarshal(q, &asked))
		require.True(t, strings.HasPrefix(asked.Message, "The MCP server x, which a script is calling, asks (its own words): \""))
		require.NotContains(t, asked.Message, "\n")
		require.Less(t, len(q), 8*maxFormBytes)
		again, err := cleanForm(form)
		require.NoError(t, err)
		require.JSONEq(t, string(form), string(again))
		_, err = elicited(json.RawMessage(`{"action":"decline"}`), form)
		require.NoError(t, err)
		_, _ = ask.DecodeForm(json.RawMessage(`{"action":"accept","content":{}}`), form) // must not panic
	})
}

func FuzzSampling(f *testing.F) {
	for _, seed := range []string{
		`{"messages":[{"role":"user","content":{"type":"text","text":"a"}}],"maxTokens":10}`,
		`{"messages":[{"role":"assistant","content":[{"type":"image","data":"aGk=","mimeType":"image/png"}]}],"maxTokens":1e9,"temperature":0.5}`,
		`{"messages":[{"role":"user","content":null}],"maxTokens":1}`, `{"tools":[1],"messages":[]}`, `7`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, params string) {
		q, err := sampling("x", json.RawMessage(params))
		if err != nil {
			return
		}
		var asked struct {
			SystemPrompt string
			MaxTokens    int
			Messages     []struct{ Role string }
			Tools        any
		}
		require.NoError(t, json.Unmarshal(q, &asked))
		require.True(t, strings.HasPrefix(asked.SystemPrompt, "This request comes from the MCP server x, "))
		require.LessOrEqual(t, asked.MaxTokens, maxTokens)
		require.NotEmpty(t, asked.Messages)
		require.Nil(t, asked.Tools)
		_, _ = sampled(json.RawMessage(params)) // must not panic
	})
}

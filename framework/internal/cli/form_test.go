package cli

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

const everyField = `{"type":"object","properties":{
	"a":{"type":"string","title":"Name","description":"yours"},"b":{"type":"integer"},"c":{"type":"boolean"},
	"d":{"type":"string","enum":["red","green"]},"e":{"type":"array","items":{"type":"string","enum":["x","y"]}},"f":{"type":"number"},"g":{"type":"string"}},
	"required":["a","b","c","d","e","f"]}`

func TestFormIsFilledInOnTheTerminal(t *testing.T) {
	var out strings.Builder
	typed := "what\nyes\nAnn\nmany\n3\nperhaps\ny\nblue\ngreen\nx, z\nx, y\n1e\n1.5\n\n"
	f, err := ask.Elicit(ask.With(t.Context(), newFormTerminal(strings.NewReader(typed), &out, time.Minute)), "q", "Who?", json.RawMessage(everyField))
	require.NoError(t, err)
	require.JSONEq(t, `{"a":"Ann","b":3,"c":true,"d":"green","e":["x","y"],"f":1.5}`, string(f.Content))
	require.Contains(t, out.String(), "\nWho?\nAnswer? [yes/no] Answer? [yes/no] Name (yours): b: b: c [yes/no]: c [yes/no]: d [red/green]: ")

	f, err = ask.Elicit(ask.With(t.Context(), newFormTerminal(strings.NewReader("no\n"), io.Discard, time.Minute)), "q", "Who?", json.RawMessage(everyField))
	require.NoError(t, err)
	require.Equal(t, ask.Decline, f.Action)

	_, err = ask.Elicit(ask.With(t.Context(), newFormTerminal(strings.NewReader(""), io.Discard, time.Minute)), "q", "Who?", json.RawMessage(everyField))
	require.Equal(t, fault.Cancelled, fault.CodeOf(err))
}

func TestTerminalAnswersNoPlansAndNoModels(t *testing.T) {
	c := newFormTerminal(strings.NewReader(""), io.Discard, time.Minute)
	require.False(t, c.Can(ask.FormQuestion("plan:1", "Approve?", json.RawMessage(`{}`))))
	require.False(t, c.Can(ask.TextQuestion("q", "Hello?", 10)))
	require.False(t, c.Can(ask.Question{Key: "q", Method: ask.Elicitation, Params: json.RawMessage(`{"mode":"url"}`)}))
}

func TestFormEndsWithItsCall(t *testing.T) {
	in, _ := io.Pipe()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := ask.Elicit(ask.With(ctx, newFormTerminal(in, io.Discard, time.Minute)), "q", "Who?", json.RawMessage(everyField))
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

func TestFormHasATimeLimit(t *testing.T) {
	in, _ := io.Pipe()
	_, err := ask.Elicit(ask.With(t.Context(), newFormTerminal(in, io.Discard, 50*time.Millisecond)), "q", "Who?", json.RawMessage(everyField))
	require.Equal(t, fault.Timeout, fault.CodeOf(err))
}

package cli

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/fault"
)

func TestConfirmReadsAnswer(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{"approve":{"type":"boolean"}}}`)
	for in, want := range map[string]string{
		"yes\n": "true", "Y\n": "true", "perhaps\n\nno\n": "false", "n": "false",
	} {
		var out bytes.Buffer
		ctx := ask.With(context.Background(), terminal{in: bufio.NewReader(strings.NewReader(in)), out: &out})
		f, err := ask.Elicit(ctx, "k", "Two rows go.", form)
		require.NoError(t, err, in)
		require.JSONEq(t, `{"approve":`+want+`}`, string(f.Content), in)
		require.Contains(t, out.String(), "Two rows go.")
	}
	ctx := ask.With(context.Background(), terminal{in: bufio.NewReader(strings.NewReader("what?\n")), out: &bytes.Buffer{}})
	_, err := ask.Elicit(ctx, "k", "Two rows go.", form)
	require.Equal(t, fault.Cancelled, fault.CodeOf(err), "the end of the input is no answer")
	_, err = ask.ListRoots(ctx, "r")
	_, unable := ask.IsUnable(err)
	require.True(t, unable)
}

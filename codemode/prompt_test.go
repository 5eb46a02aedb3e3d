package codemode_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

func TestScriptPrompt(t *testing.T) {
	h := newHouse(t, nil)
	p := h.view.Prompt("write-koan-script")
	require.NotNil(t, p)
	render := func(arguments map[string]string) (string, error) {
		messages, err := p.Render(t.Context(), h.view, arguments)
		if err != nil {
			return "", err
		}
		require.Len(t, messages, 1)
		require.False(t, messages[0].Assistant)
		return messages[0].Content.Text, nil
	}
	text, err := render(map[string]string{"task": "  Count the notes. "})
	require.NoError(t, err)
	require.Contains(t, text, "Task: Count the notes.\n")
	require.Contains(t, text, "interface Note")
	again, err := render(map[string]string{"task": "Count the notes.", "entities": " Note ,"})
	require.NoError(t, err)
	require.Contains(t, again, "interface Note")

	_, err = render(map[string]string{"task": " "})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	_, err = render(map[string]string{"task": "x", "entities": "Note,Notes,Nobody"})
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	details := fault.From(err).Details.([]fault.Detail)
	require.Len(t, details, 2, "every one that is unknown")
	require.Contains(t, details[0].Message, `did you mean "Note"`)

	complete := p.Arguments[1].Complete
	require.Contains(t, complete(h.view, "no"), "Note")
	require.Contains(t, complete(h.view, "Note, no"), "Note,Note", "the last one of a list")
	require.Empty(t, complete(h.view, "zzz"))

	require.Len(t, p.Arguments, 2, "there is one language")
	hidden := h.view.Snapshot().View(auth.Local(), exposure.Tools, false)
	require.Nil(t, hidden.Prompt("write-koan-script"), "where there is no tool to run a script, there is no prompt for one")
	require.Empty(t, hidden.Prompts())
	_, err = catalog.NewSnapshot(catalog.Offer{Prompts: []*catalog.Prompt{p, p}})
	require.ErrorContains(t, err, "offered twice")
}

func TestScriptPromptInALanguage(t *testing.T) {
	t.Parallel()
	h := newPythonHouse(t, nil)
	p := h.view.Prompt("write-koan-script")
	render := func(language string) (string, error) {
		messages, err := p.Render(t.Context(), h.view, map[string]string{"task": "Count.", "language": language})
		if err != nil {
			return "", err
		}
		return messages[0].Content.Text, nil
	}
	python, err := render("python")
	require.NoError(t, err)
	require.Contains(t, python, `Send it with language: "python".`)
	require.Contains(t, python, "class Note(Row):")
	first, err := render("")
	require.NoError(t, err)
	require.Contains(t, first, "interface Note")
	require.NotContains(t, first, "Send it with")
	typescript, err := render("typescript")
	require.NoError(t, err)
	require.Contains(t, typescript, `Send it with language: "typescript".`)
	require.NotContains(t, typescript, `language: "javascript"`)
	_, err = render("pyton")
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	require.ErrorContains(t, err, `did you mean "python"`)
	require.Equal(t, []string{"javascript"}, p.Arguments[2].Complete(h.view, "ja"))
}

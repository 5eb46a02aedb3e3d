package sources_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/node"
	"github.com/koan-go/koan/codemode/internal/language/python"
	"github.com/koan-go/koan/codemode/internal/language/sources"
	"github.com/koan-go/koan/codemode/languages"
)

func TestHostAndWorkersKnowTheSameLanguages(t *testing.T) {
	running := [][]string{}
	for _, l := range languages.All() {
		running = append(running, l.Names())
	}
	running = append(running, python.Names, node.Names) // which interpreters of the machine run
	known := [][]string{}
	for _, s := range sources.All() {
		known = append(known, s.Names())
	}
	require.Equal(t, running, known)
	require.NotNil(t, sources.All()[0].Types())
	for _, s := range sources.All() {
		p := s.Primer()
		for _, text := range []string{p.Title, p.Rules, p.Beside, p.Methods, p.Script, p.Types, p.Example(""), p.Example("Todo")} {
			require.NotEmpty(t, text, s.Names())
		}
		require.Contains(t, p.Example("Todo"), "SDK.Entities.Todo")
		require.NotNil(t, p.Outline)
	}
}

package javascript

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/script"
)

func TestUserLines(t *testing.T) {
	p, err := script.Compile(script.Source{Code: "const a: number = 1;\n\nfunction f() {\n  throw a;\n}\nf();"})
	require.NoError(t, err)
	at := &positions{job: &assignment{program: p}}
	for text, want := range map[string][]string{
		"":                          nil,
		"\tat native\n":             nil,
		"\tat getById (native)\n":   nil,
		"\tat script:999:1(3)\n":    nil,
		"\tat f (elsewhere:1:1(3))": nil,
		"\tat f (script:x:1(3))":    nil,
		"\tat (script:1:1":          nil,
		"not a frame\n":             nil,
	} {
		require.Equal(t, want, at.userLines(text), text)
	}
}

func FuzzUserLines(f *testing.F) {
	p, err := script.Compile(script.Source{Code: "throw 1"})
	require.NoError(f, err)
	at := &positions{job: &assignment{program: p}}
	f.Add("\tat f (script:1:1(3))\n\tat native\n")
	f.Add("\tat a (b) (script:1:7(3))\n\tat script:1:-7(")
	f.Fuzz(func(t *testing.T, text string) {
		for _, line := range at.userLines(text) {
			require.Contains(t, line, "script:1:")
		}
	})
}

package e2e

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// TestLanguage runs through the app's binary what the engine does not have, and
// what it would get wrong.
func TestLanguage(t *testing.T) {
	p := newApp(t).serve()
	for code, result := range map[string]any{
		`"Müller & Søn!".replace(/[^\p{L}\s]+/gu, "")`:                                                                       "Müller  Søn",
		`const all = SDK.Entities.Todo.all(); Object.values(Object.groupBy(all, (t) => t.title)).flat().length - all.length`: 0.0,
		`const u = new URL("https://a.de/?x=1"); u.searchParams.set("x", "ä"); u.href`:                                       "https://a.de/?x=%C3%A4",
		`(1234.5).toLocaleString("en-US", { style: "currency", currency: "USD" })`:                                           "$1,234.50",
		`new Date("2024-07-01T12:00:00Z").toLocaleString("en-US", { timeZone: "Asia/Tokyo", timeStyle: "short" })`:           "9:00 PM",
		`const e: string = new TextDecoder().decode(new TextEncoder().encode("é")); return e`:                                "é",
		`SDK.Entities.Todo.each().filter(() => false).toArray().length`:                                                      0.0,
	} {
		e := p.execute(code)
		require.True(t, e.Success, "%s: %+v", code, e.Error)
		require.Equal(t, result, e.Result, code)
	}

	e := p.execute("1\nconst re = /\\p{Greek}/u")
	require.Equal(t, string(fault.SyntaxError), e.Error.Code)
	require.Equal(t, 2, e.Error.Line)
	require.Contains(t, e.Error.Message, `\p{Greek}`)
	require.Contains(t, e.Error.Hint, `\p{Script=Greek}`)
}

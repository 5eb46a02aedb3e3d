package typegen_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/codemode/internal/language/javascript/typegen"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
)

func TestActionLines(t *testing.T) {
	lines := func(mode exposure.Mode, ops ...*catalog.Operation) string {
		s, err := catalog.NewSnapshot(catalog.Offer{Operations: ops})
		require.NoError(t, err)
		return typegen.TypeScript{}.ActionLines(s.View(auth.Local(), mode, false))
	}
	cancel := operation(catalog.ActionID("cancel-order"), `{"type":"object","properties":{"note":{"type":["string","null"]},"orderId":{"type":"string"},"reason":{"enum":["mistake","not needed"]},
		"lines":{"type":"array","items":{"$ref":"#/$defs/line"}},"at":{"anyOf":[{"type":"string"},{"type":"integer"}]},"a-b":{}},"required":["orderId","reason"],"$defs":{"line":{"type":"object"}}}`,
		`{"type":"object","properties":{"paid":{"type":"boolean"},"orderId":{"type":"string"}}}`)
	count := operation(catalog.ActionID("count"), `{"type":"object"}`, `{"type":"integer"}`)
	say := operation(catalog.ActionID("say"), `{"type":"object"}`, `{}`)
	say.Summary = strings.Repeat("Says a great deal, and ", 9) + "ends. More."
	weave := operation(catalog.ActionID("weave"), `{"type":"object","properties":{"t":{"$ref":"#/$defs/t"}},"$defs":{"t":{"anyOf":[`+strings.TrimSuffix(strings.Repeat(`{"type":"array","items":{"$ref":"#/$defs/t"}},{"$ref":"#/$defs/t"},`, 20), ",")+`]}}}`, `{}`)
	weave.Summary = strings.Repeat("織る", 40)
	shown := operation(catalog.ActionID("shown"), `{}`, `{}`)
	shown.ListedInCode = true
	hidden := operation(catalog.ActionID("hidden"), `{}`, `{}`)
	hidden.Reach &^= catalog.ReachTools
	all := []*catalog.Operation{cancel, count, say, shown, hidden}
	require.Equal(t, `SDK.Actions, each kept whole or not at all:
- cancelOrder({orderId: string, reason: "mistake" | "not needed", "a-b"?: unknown, at?: string | number, lines?: object[], note?: string | null}): {orderId, paid} // Does cancel-order
- count(): number // Does count
- say() // Says a great deal, and Says a great deal, and Says a great deal, and Says a …
`, lines(exposure.Code, all...))
	require.Equal(t, "SDK.Actions, each kept whole or not at all:\n- weave({t?: unknown}) // "+strings.Repeat("織る", 13)+"…\n", lines(exposure.Code, weave))
	require.Empty(t, lines(exposure.Full, all...), "they are tools in the list")
	require.Empty(t, lines(exposure.Code, shown, hidden))

	var many []*catalog.Operation
	for n := range 300 {
		op := operation(catalog.ActionID(fmt.Sprintf("act-%03d", n)), "", `{}`)
		op.Input = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
		many = append(many, op)
	}
	text := lines(exposure.Code, many...)
	require.LessOrEqual(t, len(text), 3000)
	require.Greater(t, len(text), 3000-200)
	require.Regexp(t, `\n- … and \d+ more: koan.code.search declares them\n$`, text)
}

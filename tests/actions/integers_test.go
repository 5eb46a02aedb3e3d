package actions

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// An action gets integers beyond 2^53 as a script does, as strings of digits, and what it does with them
// is exact; other integers are numbers.
func TestActionsSeeIntegersAsScriptsDo(t *testing.T) {
	t.Parallel()
	const seen = `
export const action = { description: "Says what it sees.", input: { type: "object", properties: { n: { type: "integer" }, any: {} } }, output: {} };
export default (input) => [typeof input.n, input.n, typeof input.any, input.any, BigInt(input.n) + 1n];`
	kit := start(t, map[string]string{"look.ts": seen})
	for given, want := range map[string]string{
		`7`:                   `["number",7,"number",7,8]`,
		`9007199254740991`:    `["number",9007199254740991,"number",9007199254740991,9007199254740992]`,
		`9007199254740993`:    `["string","9007199254740993","string","9007199254740993","9007199254740994"]`,
		`-9007199254740993`:   `["string","-9007199254740993","string","-9007199254740993",-9007199254740992]`,
		`9223372036854775807`: `["string","9223372036854775807","string","9223372036854775807","9223372036854775808"]`,
	} {
		raw, err := kit.Call("action::look", map[string]any{"n": json.Number(given), "any": json.Number(given)})
		require.NoError(t, err, given)
		require.JSONEq(t, want, string(raw), "called by itself")
		args := koantest.Input{Args: map[string]any{"n": json.Number(given), "any": json.Number(given)}}
		require.JSONEq(t, want, string(kit.Run(`SDK.Actions.look(SDK.args)`, args).Result), "called by a script")
		script := kit.Run(`[typeof SDK.args.n, SDK.args.n, typeof SDK.args.any, SDK.args.any, BigInt(SDK.args.n) + 1n]`, args)
		require.JSONEq(t, want, string(script.Result), "a script itself")
	}
}

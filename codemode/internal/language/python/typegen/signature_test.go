package typegen

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

func TestActionSignature(t *testing.T) {
	t.Parallel()
	of := func(input, output string) string {
		return actionSignature("cancelOrder", &catalog.Operation{Contract: catalog.Contract{Input: json.RawMessage(input), Output: json.RawMessage(output)}})
	}
	require.Equal(t, `cancel_order(orderId: str, reason: Literal["mistake", "not needed"], lines: list[dict]=..., note: Union[str, None]=...) -> {orderId, paid}`, of(
		`{"type":"object","properties":{"note":{"type":["string","null"]},"orderId":{"type":"string"},"reason":{"enum":["mistake","not needed"]},"lines":{"type":"array","items":{"type":"object","properties":{"n":{}}}}},"required":["orderId","reason"]}`,
		`{"type":"object","properties":{"paid":{"type":"boolean"},"orderId":{"type":"string"}}}`))
	require.Equal(t, `cancel_order({"a-b": int, "from": Any}) -> int`, of(`{"properties":{"from":{},"a-b":{"type":"integer"}}}`, `{"type":"integer"}`))
	require.Equal(t, `cancel_order()`, of(`{"type":"object"}`, `{}`))
	require.Equal(t, `cancel_order(of: Any=...)`, of(`{"properties":{"of":{"enum":["a long word of an enumeration","another long word of an enumeration"]}}}`, ``))
}

func TestInlineInput(t *testing.T) {
	t.Parallel()
	of := func(input string, leading ...string) string {
		return (&generator{taken: map[string]bool{}, inline: true}).inputs("FInput", json.RawMessage(input)).inlineInput(leading)
	}
	require.Equal(t, ", *, a: _str, b: _int=...", of(`{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`))
	require.Equal(t, ", b: _int=..., *, a: _str", of(`{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`, "b"))
	require.Equal(t, ", b: _int=..., a: _str=...", of(`{"properties":{"b":{"type":"integer"},"a":{"type":"string"}},"required":["a"]}`, "b", "a"))
	require.Equal(t, ", input: FInput, /", of(`{"properties":{"class":{}}}`))
	require.Equal(t, ", **members: Any", of(`true`))
}

func TestSnake(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"getById": "get_by_id", "listURLs": "list_ur_ls", "getHTMLPage": "get_html_page", "page2Size": "page2_size", "a_b": "a_b", "Über": "über", "": ""} {
		require.Equal(t, want, snake(name), name)
	}
}

package run

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
)

// A yes is the member that was asked for, and nothing that is like it.
func TestOnlyTheExactMemberAgrees(t *testing.T) {
	for text, yes := range map[string]bool{
		`{"approve":true}`: true, `{"approve": true , "note":"x"}`: true, `{"approve":true,"Approve":false}`: true,
		`{"approve":false,"Approve":true}`: false, `{"Approve":true}`: false, `{"APPROVE":true,"approve":false}`: false,
		`{"approve":false,"approve":true}`: false, `{"approve":true,"approve":true}`: false, `{"approve":"true"}`: false, `{"approve":1}`: false, `{}`: false, ``: false,
	} {
		require.Equal(t, yes, saysYes(ask.Form{Action: ask.Accept, Content: json.RawMessage(text)}), text)
		require.False(t, saysYes(ask.Form{Action: ask.Decline, Content: json.RawMessage(text)}), text)
	}
	for answer, ok := range map[string]bool{
		`{"action":"accept","content":{"approve":true}}`: true, `{"Action":"accept","content":{"approve":true}}`: false,
		`{"action":"decline","action":"accept","content":{"approve":true}}`: false, `{"action":"accept","content":{"approve":false},"content":{"approve":true}}`: false,
	} {
		f, err := ask.DecodeForm(json.RawMessage(answer), form)
		require.Equal(t, ok, err == nil && saysYes(f), answer)
	}
}

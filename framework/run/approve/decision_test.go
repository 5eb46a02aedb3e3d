package approve

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/ask"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/run/store"
)

// A yes is the member that was asked for, and nothing that is like it.
func TestOnlyTheExactMemberAgrees(t *testing.T) {
	for text, yes := range map[string]bool{
		`{"approve":true}`: true, `{"approve": true , "note":"x"}`: true, `{"approve":true,"Approve":false}`: true,
		`{"approve":false,"Approve":true}`: false, `{"Approve":true}`: false, `{"APPROVE":true,"approve":false}`: false,
		`{"approve":false,"approve":true}`: false, `{"approve":true,"approve":true}`: false, `{"approve":"true"}`: false, `{"approve":1}`: false, `{}`: false, ``: false,
	} {
		require.Equal(t, yes, isApproval(ask.Form{Action: ask.Accept, Content: json.RawMessage(text)}), text)
		require.False(t, isApproval(ask.Form{Action: ask.Decline, Content: json.RawMessage(text)}), text)
	}
	for answer, ok := range map[string]bool{
		`{"action":"accept","content":{"approve":true}}`: true, `{"Action":"accept","content":{"approve":true}}`: false,
		`{"action":"decline","action":"accept","content":{"approve":true}}`: false, `{"action":"accept","content":{"approve":false},"content":{"approve":true}}`: false,
	} {
		f, err := ask.DecodeForm(json.RawMessage(answer), form)
		require.Equal(t, ok, err == nil && isApproval(f), answer)
	}
}

// A person is not told the name of an entity that the run's caller does not know of.
func TestPlansDoNotNameUnknownEntities(t *testing.T) {
	p := &Plan{Request: Planned{Tool: "x"}, Changes: []store.Change{
		{Entity: "Todo", Set: "default", ID: "1", Action: store.Delete}, {Entity: "Ledger", Set: "default", Action: store.Delete, Hidden: true}, {Entity: "Ledger", Set: "default", Action: store.Create, Hidden: true},
	}}
	plain, unknown := func(s string) string { return s }, func(string) *catalog.Resource { return nil }
	for _, text := range []string{p.Text(plain), p.WholeText(plain), p.Summary()} {
		require.NotContains(t, text, "Ledger")
		require.Contains(t, text, store.HiddenEntity)
	}
	require.Equal(t, []store.ChangeCount{{Entity: "Todo", Set: "default", Deleted: 1}, {Set: "default", Created: 1, Deleted: 1}}, p.Counts())
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	var kept Plan
	require.NoError(t, json.Unmarshal(raw, &kept))
	require.Equal(t, p.Counts(), kept.Counts(), "nor after it was kept")
	require.Equal(t, shapeOf(p.Changes, unknown).digest, shapeOf(kept.Changes, unknown).digest)
}

// Flags name folders of the machine: a caller from elsewhere reads the command without them.
func TestOnlyTheOperatorReadsFlags(t *testing.T) {
	g := &Guard{opts: Options{Command: "todo", Again: catalog.Again{Flags: []string{"--dir", "/srv/todo"}}}}
	require.Equal(t, "todo approve 1 --dir /srv/todo", g.command("1", auth.Local()))
	require.Equal(t, "todo approve 1 --dir /srv/todo", g.command("1", Person()))
	require.Equal(t, "todo approve 1", g.command("1", auth.Principal{Subject: "ann", Scopes: auth.Every()}))
}

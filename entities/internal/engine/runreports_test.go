package engine_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/run"
	"github.com/koan-go/koan/tests/race"
)

// report is the document of the runs' reports.
func (j *journaled) report() *catalog.Document {
	j.Helper()
	docs := j.view.Snapshot().Documents()
	require.Len(j, docs, 1)
	require.Equal(j, "koan://runs/{id}", docs[0].URI)
	return docs[0]
}

func TestReportsOfRuns(t *testing.T) {
	t.Parallel()
	if forEach(t, TestReportsOfRuns) {
		return
	}
	j := startJournaled(t, place(t), map[string]any{"journal.expose": false})
	ann := auth.Principal{Subject: "ann", Scopes: []string{"*"}, Sets: []string{"*"}}
	bob := auth.Principal{Subject: "bob", Sets: []string{"*"}}
	keeper := auth.Principal{Subject: "eve", Scopes: []string{"koan:journal"}, Sets: []string{"*"}}
	var ids []string
	for _, who := range []auth.Principal{ann, bob, ann} {
		j.as = who
		code := "count() // Bearer abcdefgh12345678"
		require.NoError(t, j.run(run.Spec{Script: run.Script{Code: code, CodeDigest: journal.Digest([]byte(code)), Runtime: "goja"}, Atomic: true}, func(ctx context.Context, a *run.Attempt) (run.Return, error) {
			ids = append(ids, a.Run().ID)
			return run.Return{Result: json.RawMessage(`{}`)}, invoke(ctx, a, "Todo.count", `{}`)
		}))
	}
	read := func(who auth.Principal, id string) (map[string]any, error) {
		raw, err := j.report().Read(auth.With(t.Context(), who), j.view, id)
		if err != nil {
			return nil, err
		}
		var out map[string]any
		require.NoError(t, json.Unmarshal(raw, &out), "%s", raw)
		return out, nil
	}
	got, err := read(bob, ids[1])
	require.NoError(t, err)
	require.Equal(t, ids[1], got["id"])
	require.Equal(t, "bob", got["subject"])
	require.Equal(t, "ok", got["outcome"])
	require.Equal(t, "none", got["approval"])
	require.Equal(t, true, got["atomic"])
	require.Equal(t, false, got["dryRun"])
	require.EqualValues(t, 1, got["callCount"])
	require.Regexp(t, `^20..-..-..T.*Z$`, got["started"])
	require.NotContains(t, got["code"], "abcdefgh")
	require.NotContains(t, got, "message", "there is none")
	call := got["calls"].([]any)[0].(map[string]any)
	require.Equal(t, "Todo", call["entity"])
	require.Equal(t, "ok", call["outcome"])
	require.Equal(t, false, call["outside"])
	for _, who := range []auth.Principal{keeper, auth.Local()} {
		_, err = read(who, ids[1])
		require.NoError(t, err, "%s may read the journal", who.Subject)
	}
	for _, who := range []auth.Principal{ann, {Subject: "eve", Scopes: []string{"koan:journal"}, Sets: []string{"archive"}}, {Subject: "eve", Scopes: []string{"koan:journal"}}} {
		_, err = read(who, ids[1])
		require.Equal(t, fault.NotFound, fault.CodeOf(err), "%v may not", who)
	}
	for _, id := range []string{ids[0], "none", "", "%", strings.Repeat("0", 5000), "'; DROP TABLE koan_journal; --", "\x00"} {
		_, err = read(bob, id)
		require.Equal(t, fault.NotFound, fault.From(err).Code, "%q", id)
	}
	_, err = read(auth.Principal{Scopes: []string{"x"}}, ids[0])
	require.Equal(t, fault.NotFound, fault.From(err).Code)

	complete := func(who auth.Principal, typed string) []string {
		return j.report().Complete(auth.With(t.Context(), who), j.view, typed)
	}
	require.Equal(t, []string{ids[2], ids[1], ids[0]}, complete(keeper, ""), "the latest first")
	require.Equal(t, []string{ids[1]}, complete(bob, ""))
	require.Equal(t, []string{ids[1]}, complete(bob, ids[1][:35]))
	require.Empty(t, complete(bob, ids[0]))
	for _, typed := range []string{"%", "_", "zz", "\x00", strings.Repeat("a", 5000)} {
		require.Empty(t, complete(keeper, typed))
	}
	require.Empty(t, complete(auth.Principal{}, ""))
}

func TestNoReportsWithoutAJournal(t *testing.T) {
	race.Detect(t)
	t.Parallel()
	j := startJournaled(t, place(t), map[string]any{"journal.enabled": false})
	require.Empty(t, j.view.Snapshot().Documents())
}

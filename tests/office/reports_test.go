package office

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/pgtest"
)

func decoded(t *testing.T, text string) (out map[string]any) {
	t.Helper()
	require.NoError(t, json.Unmarshal([]byte(text), &out), text)
	return out
}

// Rows that record what happened stay, and the reports of both runs name the other one to whoever
// may read that.
func TestUndoLeavesTheLogAndIsReported(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestUndoLeavesTheLogAndIsReported) {
		return
	}
	w := newWorld(t, place(t), 0)
	done := w.ann.Run(`SDK.Entities.Document.patch("a1", {title: "T", pages: 3}); SDK.Entities.Entry.upsert({id: "l", text: "a1"})`, koantest.Input{})
	w.ann.Run(`SDK.Entities.Document.patch("a1", {pages: 5})`, koantest.Input{})
	report, err := w.report(w.who, done.RunID)
	require.NoError(t, err)
	require.NotContains(t, decoded(t, report), "undoneBy")

	_, err = w.Call("code::koan.undo", map[string]any{"runId": done.RunID, "dryRun": true, "onConflict": "skip"})
	require.NoError(t, err)
	report, err = w.report(w.who, done.RunID)
	require.NoError(t, err)
	require.NotContains(t, decoded(t, report), "undoneBy", "a dry run undid nothing")

	raw, err := w.Call("code::koan.undo", map[string]any{"runId": done.RunID, "onConflict": "skip"})
	require.NoError(t, err, "%s", raw)
	var undone struct {
		RunID  string `json:"runId"`
		Result struct {
			Kept    []map[string]string `json:"kept"`
			Skipped []map[string]string `json:"skipped"`
		} `json:"result"`
	}
	require.NoError(t, json.Unmarshal(raw, &undone))
	require.Len(t, undone.Result.Skipped, 1)
	require.Equal(t, []map[string]string{{"entity": "Entry", "set": "default", "message": "its rows record what happened, and stay"}}, undone.Result.Kept)
	w.Run(`if (SDK.Entities.Entry.getById("l").text !== "a1") throw new Error("gone")`, koantest.Input{})
	require.JSONEq(t, `"mine"`, string(w.ann.Run(`SDK.Entities.Document.getById("a1").title`, koantest.Input{}).Result))

	report, err = w.report(auth.Local(), done.RunID)
	require.NoError(t, err)
	require.Equal(t, undone.RunID, decoded(t, report)["undoneBy"])
	require.Equal(t, true, decoded(t, report)["undonePartly"])
	report, err = w.report(w.who, done.RunID)
	require.NoError(t, err)
	require.NotContains(t, report, undone.RunID, "that run is somebody else's")
	report, err = w.report(auth.Local(), undone.RunID)
	require.NoError(t, err)
	require.Equal(t, done.RunID, decoded(t, report)["undoOf"])
}

// What an action called with the app's rights is for the app's own people, and not for who called it.
func TestReportsHideCallsWithTheAppsRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, place(t), 0)
	done := w.ann.Run(`SDK.Actions.touch({})`, koantest.Input{})
	positions := func(who auth.Principal) (out []string) {
		text, err := w.report(who, done.RunID)
		require.NoError(t, err)
		var report struct {
			Calls []struct{ Position, InputDigest string }
		}
		require.NoError(t, json.Unmarshal([]byte(text), &report))
		for _, c := range report.Calls {
			out = append(out, c.Position)
			require.Equal(t, strings.Contains(c.Position, "."), c.InputDigest == "", "an input with the app's rights has no digest")
		}
		return out
	}
	require.Equal(t, []string{"1"}, positions(w.who))
	require.Greater(t, len(positions(auth.Local())), 5)
}

// Reports of others take the scope by its name, and every set that the run named, used or changed.
func TestReportsAreBoundToSets(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestReportsAreBoundToSets) {
		return
	}
	w := newWorld(t, place(t), 0, koantest.Setting{Key: "journal.expose", Value: "true"})
	who := func(subject string, sets string, scopes ...string) auth.Principal {
		return auth.Principal{Subject: subject, Scopes: scopes, Sets: strings.Split(sets, " ")}
	}
	all := []string{"badge:read", "badge:write", catalog.ScopeWrite}
	runs := map[string]string{}
	for name, sets := range map[string]string{"branch-a": "branch-a", "branch-b": "branch-b", "both": "branch-a branch-b"} {
		code := ""
		for _, set := range strings.Fields(sets) {
			code += fmt.Sprintf(`SDK.Entities.Badge.count({}, {set: %q});`, set)
		}
		in := koantest.Input{Set: strings.Fields(sets)[0]}
		runs[name] = w.As(who("writer of "+name, sets, all...)).Run(code, in).RunID
	}
	for _, c := range []struct {
		reader auth.Principal
		sees   []string
	}{
		{who("keeper", "*", "koan:journal"), []string{"branch-a", "branch-b", "both"}},
		{who("keeper", "branch-*", "koan:journal"), []string{"branch-a", "branch-b", "both"}},
		{who("keeper", "branch-a", "koan:journal"), []string{"branch-a"}},
		{who("keeper", "branch-b default", "koan:journal", "*"), []string{"branch-b"}},
		{who("keeper", "branch-", "koan:journal"), nil},
		{who("tenant", "*", "*"), nil},
		{who("tenant", "branch-a", "*"), nil},
		{who("writer of both", "branch-a", "*"), []string{"both"}},
	} {
		for name, id := range runs {
			_, err := w.report(c.reader, id)
			if sees := fault.CodeOf(err) != fault.NotFound; sees {
				require.NoError(t, err)
				require.Contains(t, c.sees, name, "%v", c.reader)
			} else {
				require.NotContains(t, c.sees, name, "%v", c.reader)
			}
		}
		s := w.As(c.reader)
		if c.reader.Subject != "keeper" {
			require.False(t, s.Try(`SDK.Entities.KoanRun.count()`, koantest.Input{}).Success, "%v", c.reader)
			continue
		}
		if !c.reader.MayName("default") { // where the entities are
			continue
		}
		ids, calls := []string{}, 0
		for _, name := range c.sees {
			ids = append(ids, runs[name])
			if name == "both" {
				calls = 2
			}
		}
		var got struct {
			Runs  []string
			Calls int
		}
		s.Run(`({
			runs: SDK.Entities.KoanRun.collection({filter: {id: {$in: SDK.args.all}}, fields: "id"}).items.map(r => r.id),
			calls: SDK.Entities.KoanCall.count({runId: SDK.args.both}),
		})`, koantest.Input{Args: map[string]any{"all": []string{runs["branch-a"], runs["branch-b"], runs["both"]}, "both": runs["both"]}}).ResultInto(&got)
		require.ElementsMatch(t, ids, got.Runs, "%v", c.reader)
		require.Equal(t, calls, got.Calls, "%v", c.reader)
	}
}

// A run of somebody else is as one that does not exist, in what is said and in how long that takes.
func TestOthersRunsAreAsUnknownOnes(t *testing.T) {
	t.Parallel()
	w := newWorld(t, place(t), 0, koantest.Setting{Key: "replay.keep", Value: "all"})
	theirs := w.Run(`SDK.Entities.Document.patch("b1", {pages: 8})`, koantest.Input{}).RunID
	for _, op := range []string{"code::koan.undo", "code::koan.status"} {
		seen := map[string]bool{}
		for _, id := range []string{theirs, "00000000-0000-4000-8000-000000000000", "01a1f9af-86a5-7c6b-96f4-1eb5600f6428"} {
			began := time.Now()
			out, err := w.ann.Call(op, map[string]any{"runId": id})
			took := time.Since(began)
			require.Equal(t, fault.NotFound, fault.CodeOf(err), "%s", out)
			f := fault.From(err)
			seen[strings.ReplaceAll(fmt.Sprint(f.Message, f.Hint, f.Path, f.Details), id, "<run>")] = true
			if op == "code::koan.undo" {
				require.Greater(t, took, 200*time.Millisecond, "each is looked for as long")
			}
		}
		require.Len(t, seen, 1, "%s", op)
	}
}

// However many runs others make, a list has one's own, and says nothing of theirs.
func TestRunsOfOthersTakeNoPlaceInLists(t *testing.T) {
	t.Parallel()
	if pgtest.ForEach(t, TestRunsOfOthersTakeNoPlaceInLists) {
		return
	}
	w := newWorld(t, place(t), 0)
	w.serve()
	mine := w.ann.Run(`SDK.Entities.Document.count()`, koantest.Input{}).RunID
	for range 1100 { // more than a page looks at
		_, err := w.Call("koan::Folder.count", map[string]any{})
		require.NoError(t, err)
	}
	var page struct {
		Runs []struct{ ID string }
		Next *string
	}
	resp := w.request(t.Context(), "GET", "/api/console/runs", "")
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&page))
	require.Len(t, page.Runs, 1)
	require.Equal(t, mine, page.Runs[0].ID)
	require.Nil(t, page.Next)
	report := w.Instance().Snapshot().Document(catalog.RunReportURI)
	require.Equal(t, []string{mine}, report.Complete(auth.With(t.Context(), w.who), nil, mine[:3]))
	w.who.Scopes = []string{"koan:journal"}
	resp = w.request(t.Context(), "GET", "/api/console/runs?limit=200", "")
	require.NoError(t, json.NewDecoder(resp.Body).Decode(&page))
	require.Len(t, page.Runs, 200)
	require.NotNil(t, page.Next)
}

// Who decides about a plan reads of it what his own rights cover, and is told that there is more.
func TestApproversReadPlansWithTheirOwnRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, place(t), 0, koantest.Setting{Key: "approval.rules", Value: `[{"principal": "ann", "mode": "writes"}]`})
	w.serve()
	var refused struct {
		Error struct {
			Details struct{ PlanID string }
		}
	}
	raw, err := w.ann.Call("code::koan.execute", map[string]any{"code": `
		const id = "k" + 1, number = "B-" + 2; SDK.Entities["Ba" + "dge"].patch(id, {number}); SDK.Entities.Document.patch("a1", {title: "ours"}); SDK.Entities.Person.patch("1", {name: "Anne"})`})
	require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), "%s", raw)
	require.NoError(t, json.Unmarshal(raw, &refused))
	plan := refused.Error.Details.PlanID
	require.NotEmpty(t, plan)
	read := func(scopes ...string) string {
		w.who = auth.Principal{Subject: "boss", Scopes: append(scopes, auth.Approve), Sets: []string{"default"}}
		out, err := w.As(w.who).Call("code::koan.execute", map[string]any{"planId": plan, "dryRun": true})
		require.NoError(t, err, "%s", out)
		text := string(out)
		for _, path := range []string{"/api/console/plans/" + plan, "/api/console/plans"} {
			body, err := io.ReadAll(w.request(t.Context(), "GET", path, "").Body)
			require.NoError(t, err)
			text += string(body)
		}
		return text
	}
	whole := read(auth.All)
	for _, shown := range []string{"B-2", "ours", "Anne", "Badge"} {
		require.Contains(t, whole, shown)
	}
	require.NotContains(t, whole, "Withheld")
	some := read()
	require.Contains(t, some, "ours")
	require.Contains(t, some, "Anne")
	for _, hidden := range []string{"B-2", "A-1", "Badge", "k1"} {
		require.NotContains(t, some, hidden)
	}
	require.Contains(t, some, "Withheld from you")
	require.Contains(t, some, "1 "+"(an entity that is not shown)")
	require.Contains(t, some, `"updated":1`)
}

// Nor does an approver learn of a plan's entity that the next one, which takes its place, does not have.
func TestApproversReadDifferencesWithTheirOwnRights(t *testing.T) {
	t.Parallel()
	w := newWorld(t, place(t), 0, koantest.Setting{Key: "approval.rules", Value: `[{"principal": "ann", "mode": "writes"}]`})
	w.serve()
	planOf := func(raw []byte) (id string) {
		var refused struct {
			Error struct {
				Details struct{ PlanID string }
			}
		}
		require.NoError(t, json.Unmarshal(raw, &refused), "%s", raw)
		require.NotEmpty(t, refused.Error.Details.PlanID, "%s", raw)
		return refused.Error.Details.PlanID
	}
	for _, c := range []struct {
		scopes []string
		shown  bool
	}{{nil, false}, {[]string{auth.All}, true}} {
		raw, err := w.ann.Call("code::koan.execute", map[string]any{"code": `
			const of = SDK.Entities["Ba" + "dge"], id = "k" + 1; if (SDK.Entities.Document.getById("a1").title !== "moved") of.patch(id, {number: "B-" + 7}); SDK.Entities.Person.patch("1", {name: "Anne"})`})
		require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), "%s", raw)
		_, err = w.As(auth.Local()).Call("koan::Document.patch", map[string]any{"id": "a1", "changes": map[string]any{"title": "moved"}})
		require.NoError(t, err)
		boss := auth.Principal{Subject: "boss", Scopes: append(c.scopes, auth.Approve), Sets: []string{"default"}}
		raw, err = w.As(boss).Call("code::koan.execute", map[string]any{"planId": planOf(raw)})
		require.Equal(t, fault.ApprovalRequired, fault.CodeOf(err), "%s", raw)
		shown, err := w.As(boss).Call("code::koan.execute", map[string]any{"planId": planOf(raw), "dryRun": true})
		require.NoError(t, err)
		said := string(raw) + string(shown)
		require.Equal(t, c.shown, strings.Contains(said, "Badge"), "%s", said)
		_, err = w.As(auth.Local()).Call("koan::Document.patch", map[string]any{"id": "a1", "changes": map[string]any{"title": "back"}})
		require.NoError(t, err)
	}
}

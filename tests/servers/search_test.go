package servers_test

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/tests/fixture"
	"github.com/koan-go/koan/tests/servers"
)

// request is what a person says, and the tools that are right for it.
type request struct{ Says, Tools string }

//go:embed requests.json
var requestsFile []byte

// requests are everyday requests: the ranking was made with tuned and developed. Fresh and
// unseen were written by somebody who knew the tools alone. No rule was made for one of them,
// but the words in framework/catalog/words.txt were collected by somebody who had read them,
// so they say less of other requests than their names promise. Apart was written by somebody
// else, who saw only the list of tools, and those who collect words have not read it. Afar was
// written, by the one who then collected most of the words, before that, and no miss of it was
// looked at. Both say most of other requests, and stay so only as long as nobody makes a rule
// for them. Plain and People were written by two others who saw only the list of tools, while others
// collected most of the words. Studied is requests whose misses were looked at for what kinds there are; unread was
// written by the same one before any rule for them, and no miss of it was looked at. Elsewhere is
// requests over the tools of other servers; its misses were looked at, too.
var requests = func() (out struct{ Tuned, Developed, Fresh, Unseen, Apart, Afar, Studied, Unread, Elsewhere, Plain, People []request }) {
	if err := json.Unmarshal(requestsFile, &out); err != nil {
		panic(err)
	}
	return out
}()

// toolsIn returns how many tools of servers scripts of a view can call.
func toolsIn(v *catalog.View) (n int) {
	return listed(v.Script())
}

// listed returns how many of some operations are tools of servers. A server that has not been
// listed has one operation for any tool.
func listed(all []*catalog.Operation) (n int) {
	for _, op := range all {
		if op.ID.Kind == catalog.KindUpstream && op.ID.Op != catalog.AnyTool {
			n++
		}
	}
	return n
}

// upstreams returns the view of an app over some servers, once all have been listed.
func upstreams(t testing.TB, which []servers.Server) *catalog.View {
	t.Helper()
	kit := koantest.New(t, framework.App{Name: "searching"}, servers.Listen(t, which)...)
	want := 0
	for _, s := range which {
		want += len(s.Tools)
	}
	var v *catalog.View
	require.Eventually(t, func() bool {
		v = kit.Instance().Snapshot().View(auth.Local(), exposure.Full, false)
		return toolsIn(v) == want
	}, 30*time.Second, 10*time.Millisecond)
	return v
}

// measure returns how many requests find a right tool among the first three, and what the
// others find.
func measure(v *catalog.View, requests []request) (found int, missed []string) {
	for _, r := range requests {
		var first []string
		right := false
		for i, h := range v.Search(r.Says, 8) {
			name := h.ID()[strings.LastIndex(h.ID(), "::")+2:]
			right = right || i < 3 && slices.Contains(strings.Fields(r.Tools), name)
			first = append(first, fmt.Sprintf("%s %.1f", name, h.Score))
		}
		if right {
			found++
			continue
		}
		missed = append(missed, fmt.Sprintf("%q (%s): %s", r.Says, r.Tools, strings.Join(first, ", ")))
	}
	return found, missed
}

// keptFromSight are the lists whose misses are not to be read by who collects words and makes rules.
var keptFromSight = []string{"apart", "afar", "unread", "plain", "people"}

func TestSearchFindsTools(t *testing.T) {
	everyday := upstreams(t, servers.Named(t, servers.Everyday))
	require.GreaterOrEqual(t, len(everyday.Script()), 200)
	others := upstreams(t, servers.Named(t, []string{"asana", "google-drive", "mongodb", "trello"}))
	for _, list := range []struct {
		name     string
		over     *catalog.View
		requests []request
		least    int // what docs/reference/finding-tools.md says, less one
	}{
		{"tuned", everyday, requests.Tuned, 86},
		{"developed", everyday, requests.Developed, 24},
		{"fresh", everyday, requests.Fresh, 29},
		{"unseen", everyday, requests.Unseen, 26},
		{"apart", everyday, requests.Apart, 26},
		{"afar", everyday, requests.Afar, 43},
		{"studied", everyday, requests.Studied, 52},
		{"unread", everyday, requests.Unread, 45},
		{"plain", everyday, requests.Plain, 58},
		{"people", everyday, requests.People, 58},
		{"elsewhere", others, requests.Elsewhere, 40},
	} {
		found, missed := measure(list.over, list.requests)
		if slices.Contains(keptFromSight, list.name) {
			missed = []string{"(not to be read)"}
		}
		t.Logf("%s: %d of %d; not: \n%s", list.name, found, len(list.requests), strings.Join(missed, "\n"))
		require.GreaterOrEqual(t, found, list.least, list.name)
	}
}

// The three ways to search have one ranking.
func TestFacesRankAlike(t *testing.T) {
	kit := koantest.New(t, framework.App{Name: "searching"}, append(servers.Listen(t, servers.Named(t, servers.Everyday)), koantest.Setting{Key: "codeMode.faces", Value: "koan,codemode,gateway"})...)
	want := 0
	for _, s := range servers.Named(t, servers.Everyday) {
		want += len(s.Tools)
	}
	require.Eventually(t, func() bool { return listed(kit.Instance().Snapshot().Operations()) >= want }, 30*time.Second, 10*time.Millisecond)
	call := func(id catalog.ID, input any, into any) {
		t.Helper()
		_, err := kit.Instance().Invoke(t.Context(), auth.Local(), id.String(), input, into)
		require.NoError(t, err)
	}
	for _, r := range append(requests.Tuned[:5:5], requests.Fresh[:5]...) {
		var koan, gateway struct {
			Results []struct {
				ID    string
				Score float64
			}
		}
		call(catalog.CodeID("koan", "search"), map[string]any{"query": r.Says, "limit": 5}, &koan)
		call(catalog.CodeID("gateway", "search"), map[string]any{"query": r.Says, "top_k": 5}, &gateway)
		require.NotEmpty(t, koan.Results)
		require.Equal(t, koan, gateway)
		var found []struct{ ServerID, ToolName string }
		kit.Run(`import { searchTools } from "@codemode/discovery"; globalThis.result = (await searchTools(SDK.args, { limit: 5 })).results`, koantest.Input{Args: r.Says}).ResultInto(&found)
		for i, f := range found {
			require.Equal(t, strings.Replace(koan.Results[i].ID, "plugin::files.", "upstream::files::", 1), "upstream::"+f.ServerID+"::"+f.ToolName)
		}
	}
	var of struct {
		Results []struct{ ID, Upstream string }
	}
	call(catalog.CodeID("gateway", "search"), map[string]any{"query": "create", "top_k": 3, "upstream": "airtable"}, &of)
	require.Len(t, of.Results, 3)
	for _, one := range of.Results {
		require.Equal(t, "airtable", one.Upstream)
	}
	_, err := kit.Instance().Invoke(t.Context(), auth.Local(), "code::gateway.search", map[string]any{"query": "x", "top_k": 51}, nil)
	require.Equal(t, fault.InvalidPayload, fault.From(err).Code)
}

// Who may not call a tool does not find it.
func TestSearchKeepsToRights(t *testing.T) {
	kit := koantest.New(t, framework.App{Name: "searching"}, servers.Listen(t, servers.Named(t, []string{"slack"}))...)
	posting := catalog.ID{Kind: catalog.KindUpstream, Owner: "slack", Op: "slack_post_message"}
	require.Eventually(t, func() bool { return kit.Instance().Snapshot().Operation(posting) != nil }, 30*time.Second, 10*time.Millisecond)
	for scopes, finds := range map[string]bool{catalog.ScopeCall: true, catalog.ScopeWrite: false} {
		v := kit.Instance().Snapshot().View(auth.Principal{Subject: "ann", Scopes: []string{scopes}, Sets: []string{auth.All}}, exposure.Full, false)
		require.Equal(t, finds, len(v.Search("post a message", 5)) > 0, scopes)
	}
}

// What is not offered is found by no search, and by no id; actions and entities stand in the
// same index as tools.
func TestSearchFindsWhatMayBeCalledAlone(t *testing.T) {
	app := fixture.App()
	app.Actions = fstest.MapFS{"actions/chase-invoice.js": {Data: []byte(`export const action = { title: "Chase an invoice", description: "Writes a reminder about an invoice that is overdue." }; export default () => ({});`)}}
	settings := append(servers.Listen(t, servers.Named(t, servers.Everyday)),
		koantest.Setting{Key: "codeMode.faces", Value: "koan,codemode,gateway"},
		koantest.Setting{Key: "upstreams.slack.tools.deny", Value: "[slack_post_message]"},
	)
	kit := koantest.New(t, app, settings...)
	want := -1 // the tool that is denied
	for _, s := range servers.Named(t, servers.Everyday) {
		want += len(s.Tools)
	}
	require.Eventually(t, func() bool { return listed(kit.Instance().Snapshot().Operations()) >= want }, 30*time.Second, 10*time.Millisecond)
	search := func(face, query string) (ids []string) {
		t.Helper()
		out, err := kit.Call("code::"+face+".search", map[string]any{"query": query})
		require.NoError(t, err)
		var found struct{ Results []struct{ ID string } }
		require.NoError(t, json.Unmarshal(out, &found))
		for _, r := range found.Results {
			ids = append(ids, r.ID)
		}
		return ids
	}
	const denied = "upstream::slack::slack_post_message"
	for _, face := range []string{"koan", "gateway"} {
		found := search(face, "post a message to a slack channel")
		require.NotEmpty(t, found)
		require.NotContains(t, found, denied, face)
		require.Contains(t, search(face, "reply to a thread in slack"), "upstream::slack::slack_reply_to_thread", face)
		require.Equal(t, "action::chase-invoice", search(face, "remind of an overdue invoice")[0], face)
		require.Contains(t, search(face, "create a todo"), "koan::Todo.upsert", face)
	}
	found := string(kit.Run(`import { searchTools } from "@codemode/discovery"; export default JSON.stringify(await searchTools("post a message to a slack channel"))`, koantest.Input{}).Result)
	require.Contains(t, found, "slack")
	require.NotContains(t, found, "slack_post_message")

	_, err := kit.Call("code::gateway.schema", map[string]any{"id": denied})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err), "%v", err)
	_, err = kit.Call("code::gateway.execute", map[string]any{"code": `return callTool("` + denied + `", {})`})
	require.Equal(t, fault.ToolNotFound, fault.CodeOf(err), "%v", err)
	r := kit.Try(`SDK.Servers.slack.slack_post_message({})`, koantest.Input{})
	require.False(t, r.Success)
}

// The files of the app itself, which are deleted after a day, are not what people mean who have
// a server with files.
func TestSearchPutsFilesOfServersFirst(t *testing.T) {
	v := upstreams(t, servers.Named(t, []string{"filesystem", "github"}))
	for query, want := range map[string]string{
		"read a file": "read_file read_text_file", "create a file": "write_file create_or_update_file", "save this text to a file": "write_file",
		"files": "list_allowed_directories search_files read_multiple_files read_file read_text_file get_file_info edit_file write_file move_file",
	} {
		hits := v.Search(query, 3)
		require.Len(t, hits, 3, query)
		found := false
		for _, h := range hits {
			require.Equal(t, catalog.KindUpstream, h.Operation.ID.Kind, "%s: %s", query, h.ID())
			found = found || slices.Contains(strings.Fields(want), h.Operation.ID.Op)
		}
		require.True(t, found, query)
	}
	for _, query := range []string{"read an uploaded file", "create a file in this run"} {
		require.True(t, slices.ContainsFunc(v.Search(query, 3), func(h catalog.Hit) bool { return h.Operation.ID.Owner == "files" }), query)
	}
}

// Who writes the name of a tool gets it first.
func TestSearchFindsToolsByName(t *testing.T) {
	v := upstreams(t, servers.Named(t, servers.Everyday))
	for _, op := range v.Script() {
		if op.ID.Kind != catalog.KindUpstream || op.ID.Op == catalog.AnyTool || strings.Contains(op.ID.Op, "$") {
			continue
		}
		require.Equal(t, op.ID.Op, v.Search(op.ID.Op, 1)[0].Operation.ID.Op)
	}
}

package catalog_test

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/catalog"
	"github.com/koan-go/koan/framework/exposure"
	"github.com/koan-go/koan/framework/fault"
)

func TestParseID(t *testing.T) {
	good := map[string]catalog.ID{
		"koan::Todo.get-by-id":         catalog.EntityID("Todo", "get-by-id"),
		"plugin::vision.detect":        catalog.PluginID("vision", "detect"),
		"code::koan.execute":           catalog.CodeID("koan", "execute"),
		"action::cancel-order":         catalog.ActionID("cancel-order"),
		"upstream::github::repo.list":  {Kind: catalog.KindUpstream, Owner: "github", Op: "repo.list"},
		"upstream::fs::read/file:name": {Kind: catalog.KindUpstream, Owner: "fs", Op: "read/file:name"},
	}
	for text, want := range good {
		got, err := catalog.ParseID(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got)
		require.Equal(t, text, got.String())
		require.True(t, got.Valid())
	}
	for _, bad := range []string{"", "koan", "koan::", "koan::Todo", "koan::.x", "koan::Todo.", "koan::To do.x", "koan::Todo.a.b", "todo::a.b", "upstream::a", "upstream::a::", "upstream::a::b::c", "upstream::a:::b", "upstream::a::b c", "plugin::ä.b", "action::", "action::Cancel", "action::a.b", "action::a_b", "action::a--b", "action::-a", "action::a-", "action::1a", "action::" + strings.Repeat("a", 49), strings.Repeat("x", 600)} {
		_, err := catalog.ParseID(bad)
		require.Equal(t, fault.InvalidCodeModeID, fault.CodeOf(err), bad)
	}
}

func FuzzParseID(f *testing.F) {
	for _, s := range []string{"koan::Todo.get-by-id", "upstream::a::b", "plugin::x.y", "code::koan.execute", "action::cancel-order", "::", "upstream::a:::b", "koan::a.b\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		id, err := catalog.ParseID(s)
		if err != nil {
			require.Equal(t, fault.InvalidCodeModeID, fault.CodeOf(err))
			return
		}
		require.Equal(t, s, id.String())
		require.True(t, id.Valid())
	})
}

func TestNames(t *testing.T) {
	tools := map[string]*catalog.Operation{
		"pantry-item.get-by-id": {ID: catalog.EntityID("PantryItem", "get-by-id")},
		"app.todo.upsert":       {ID: catalog.EntityID("Todo", "upsert"), Listing: catalog.Listing{ToolPrefix: "app"}},
		"vision.detect":         {ID: catalog.PluginID("vision", "detect")},
		"cancel-order":          {ID: catalog.ActionID("cancel-order")},
		"koan.code.execute":     {ID: catalog.CodeID("koan", "execute")},
		"codemode.run":          {ID: catalog.CodeID("codemode", "run")},
		"code_search":           {ID: catalog.CodeID("gateway", "search")},
	}
	for want, op := range tools {
		require.Equal(t, want, catalog.ToolName(op))
	}
	require.Equal(t, []string{"Entities", "Todo", "getById"}, catalog.SDKPath(catalog.EntityID("Todo", "get-by-id")))
	require.Equal(t, []string{"Vision", "detectAll"}, catalog.SDKPath(catalog.PluginID("vision", "detect-all")))
	require.Nil(t, catalog.SDKPath(catalog.CodeID("koan", "execute")))
	for in, want := range map[string]string{"HTTPServer": "http-server", "PantryItem": "pantry-item", "todo2Do": "todo2-do", "": ""} {
		require.Equal(t, want, catalog.Kebab(in))
	}
	for in, want := range map[string]string{"123tool": "_123tool", "get-it": "get_it", "delete": "delete_", "": "_", "a.b c": "a_b_c", "ok": "ok"} {
		require.Equal(t, want, catalog.Identifier(in))
	}
}

func op(id catalog.ID, change ...func(*catalog.Operation)) *catalog.Operation {
	o := &catalog.Operation{
		ID:       id,
		Contract: catalog.Contract{Input: json.RawMessage(`{"type":"object"}`), Output: json.RawMessage(`{"type":"object"}`)},
		Listing:  catalog.Listing{Reach: catalog.Everywhere},
		Work: catalog.Work{
			Handler: func(context.Context, catalog.Call) (json.RawMessage, error) { return nil, nil },
		},
	}
	if id.Kind == catalog.KindEntity {
		o.Resource = id.Owner
	}
	for _, c := range change {
		c(o)
	}
	return o
}

func TestSnapshotRejectsInvalidOffers(t *testing.T) {
	a := op(catalog.EntityID("Todo", "upsert"))
	noHandler := op(catalog.EntityID("Todo", "patch"), func(o *catalog.Operation) { o.Handler = nil })
	badID := op(catalog.ID{Kind: "x", Owner: "y", Op: "z"})
	badSchema := op(catalog.EntityID("Todo", "new"), func(o *catalog.Operation) { o.Input = json.RawMessage(`{`) })
	_, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{a, a, noHandler, badID, badSchema}, Resources: []*catalog.Resource{{Name: "Todo"}, {Name: "Todo"}}})
	for _, want := range []string{"koan::Todo.upsert is offered twice", "koan::Todo.patch has no handler", `"x::y.z" is not valid`, "koan::Todo.new has an input", "entity Todo is offered twice"} {
		require.ErrorContains(t, err, want)
	}
}

func TestToolNamesAreUniqueAndShort(t *testing.T) {
	long := strings.Repeat("VeryLong", 12)
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{
		op(catalog.EntityID("TodoItem", "upsert")), op(catalog.EntityID("Todo-Item", "upsert")), op(catalog.EntityID(long, "upsert")), op(catalog.EntityID(long, "upsert-many")),
	}})
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, o := range s.Operations() {
		name := s.ToolName(o.ID)
		require.LessOrEqual(t, len(name), 64)
		require.False(t, seen[name], name)
		seen[name] = true
	}
	require.True(t, seen["todo-item.upsert"] && seen["todo-item.upsert-2"])
}

func TestVersionDependsOnContent(t *testing.T) {
	make := func(summary string) string {
		s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{op(catalog.EntityID("Todo", "upsert"), func(o *catalog.Operation) { o.Summary = summary })}})
		require.NoError(t, err)
		return s.Version()
	}
	require.Equal(t, make("a"), make("a"))
	require.NotEqual(t, make("a"), make("b"))
}

func shop(t *testing.T) *catalog.Snapshot {
	t.Helper()
	s, err := catalog.NewSnapshot(catalog.Offer{
		Operations: []*catalog.Operation{
			op(catalog.EntityID("Todo", "collection"), func(o *catalog.Operation) { o.Scopes = []string{"todo.read"} }),
			op(catalog.EntityID("Todo", "upsert"), func(o *catalog.Operation) { o.Scopes = []string{"todo.write"} }),
			op(catalog.EntityID("Secret", "collection"), func(o *catalog.Operation) { o.Scopes = []string{"secret"} }),
			op(catalog.EntityID("Ledger", "collection"), func(o *catalog.Operation) { o.Exposure = exposure.Tools }),
			op(catalog.CodeID("koan", "execute"), func(o *catalog.Operation) { o.Reach = catalog.ReachTools }),
		},
		Resources: []*catalog.Resource{
			{Name: "Todo", Operations: []string{"collection", "upsert"}, Sets: []string{"default", "tenant-*"}, Edges: []catalog.Edge{{Name: "secret", Target: "Secret"}}},
			{Name: "Secret", Operations: []string{"collection"}},
			{Name: "Ledger", Operations: []string{"collection"}},
		},
	})
	require.NoError(t, err)
	return s
}

func TestViewHidesForbidden(t *testing.T) {
	s := shop(t)
	reader := auth.Principal{Scopes: []string{"todo.read"}, Sets: []string{"default", "tenant-a"}}
	v := s.View(reader, exposure.Full, true)
	require.Nil(t, v.Resource("Secret"))
	require.Nil(t, v.Tool("secret.collection"))
	todo := v.Resource("Todo")
	require.Equal(t, []string{"collection"}, todo.Operations)
	require.Equal(t, []string{"default", "tenant-a"}, todo.Sets)
	require.Empty(t, todo.Edges, "an edge to a hidden entity does not exist")
	require.False(t, v.Allowed(catalog.EntityID("Todo", "upsert")))

	tenant := s.View(auth.Principal{Scopes: []string{"*"}, Sets: []string{"tenant-*"}}, exposure.Full, true)
	require.Equal(t, []string{"tenant-*"}, tenant.Resource("Todo").Sets)
	require.Empty(t, tenant.Resource("Todo").Edges)
	for _, name := range []string{"Secret", "Ledger"} {
		require.Nil(t, tenant.Resource(name), "an entity in no set that the caller may name")
		require.Nil(t, tenant.Sees(name))
		require.Nil(t, tenant.Operation(catalog.EntityID(name, "collection")))
	}
	require.Nil(t, tenant.Tool("secret.collection"))
	require.Empty(t, s.View(auth.Principal{Scopes: []string{"*"}}, exposure.Full, true).Resources(), "nor one may name any")

	all := s.View(auth.Local(), exposure.Full, true)
	require.Equal(t, []string{"default", "tenant-*"}, all.Resource("Todo").Sets)
	require.Len(t, all.Resource("Todo").Edges, 1)
	require.NotEqual(t, v.Version(), all.Version())
	require.Same(t, all, s.View(auth.Principal{Subject: "other", Scopes: []string{"*"}, Sets: []string{"*"}}, exposure.Full, true), "equal rights share a view")
	also := auth.Principal{Scopes: []string{"todo.read", "openid", "mail.send"}, Sets: []string{"default", "tenant-a"}}
	require.Same(t, v, s.View(also, exposure.Full, true), "scopes of other servers make no difference")
	require.Contains(t, s.Scopes(), "todo.read")
}

// TestViewsAreBounded: rights of ever new tenants do not fill the memory.
func TestViewsAreBounded(t *testing.T) {
	s := shop(t)
	view := func(n int) *catalog.View {
		return s.View(auth.Principal{Scopes: []string{"*"}, Sets: []string{fmt.Sprint("tenant-", n)}}, exposure.Full, true)
	}
	first := view(0)
	freed := make(chan struct{})
	runtime.AddCleanup(first, func(c chan struct{}) { close(c) }, freed)
	version := first.Version()
	first = nil
	for n := range 5000 {
		view(n + 1)
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		select {
		case <-freed:
			return true
		default:
			return false
		}
	}, 10*time.Second, 10*time.Millisecond)
	require.Equal(t, version, view(0).Version(), "made again, it is the same")
}

func TestWriteScopes(t *testing.T) {
	reads := func(o *catalog.Operation) { o.Effects.ReadOnly = true }
	scoped := func(o *catalog.Operation) { o.Scopes = []string{"own"} }
	for _, c := range []struct {
		op   *catalog.Operation
		want []string
	}{
		{op(catalog.EntityID("Todo", "upsert")), []string{catalog.ScopeWrite}},
		{op(catalog.EntityID("Todo", "upsert"), scoped), []string{"own"}},
		{op(catalog.EntityID("Todo", "collection"), reads), nil},
		{op(catalog.EntityID("Todo", "collection"), reads, scoped), []string{"own"}},
		{op(catalog.PluginID("mail", "send")), []string{catalog.ScopeCall}},
		{op(catalog.PluginID("mail", "read"), reads), nil},
		{op(catalog.ID{Kind: catalog.KindUpstream, Owner: "github", Op: "create_issue"}), []string{catalog.ScopeCall}},
		{op(catalog.CodeID("koan", "execute")), nil},
	} {
		require.Equal(t, c.want, c.op.Needs(), c.op.ID)
	}
}

func TestNarrow(t *testing.T) {
	all := shop(t).View(auth.Local(), exposure.Full, true)
	v := all.Narrow(func(id catalog.ID) bool { return id.Owner == "Todo" && id.Op != "upsert" })
	require.Equal(t, []string{"collection"}, v.Resource("Todo").Operations)
	require.Empty(t, v.Resource("Todo").Edges)
	require.Nil(t, v.Resource("Secret"))
	require.Nil(t, v.Tool("ledger.collection"))
	require.False(t, v.Allowed(catalog.EntityID("Secret", "collection")))
	require.False(t, v.Scripted(catalog.EntityID("Todo", "upsert")))
	require.NotEqual(t, all.Version(), v.Version())
	require.Len(t, all.Resource("Todo").Edges, 1, "the view itself stays")
}

func TestViewFollowsTheMode(t *testing.T) {
	s := shop(t)
	names := func(m exposure.Mode) []string {
		var out []string
		for _, o := range s.View(auth.Local(), m, true).Tools() {
			out = append(out, s.ToolName(o.ID))
		}
		return out
	}
	require.Equal(t, []string{"koan.code.execute", "ledger.collection"}, names(exposure.Code))
	require.Equal(t, []string{"ledger.collection", "secret.collection", "todo.collection", "todo.upsert"}, names(exposure.Tools))
	require.Equal(t, []string{"koan.code.execute", "ledger.collection", "secret.collection", "todo.collection", "todo.upsert"}, names(exposure.Full))
	code := s.View(auth.Local(), exposure.Code, true)
	require.Nil(t, code.Tool("todo.upsert"), "hidden is not found")
	require.NotNil(t, code.Tool("koan_code_execute"), "both spellings are callable")
	require.True(t, code.Scripted(catalog.EntityID("Todo", "upsert")))
	require.False(t, code.Scripted(catalog.EntityID("Ledger", "collection")), "annotated tools: out of the SDK")
	require.Empty(t, s.View(auth.Local(), exposure.Tools, true).Resources())
}

// Mode `code` lists only the actions that ask for it; the others can be called there too.
func TestActionsInModeCode(t *testing.T) {
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{
		op(catalog.ActionID("by-mode")),
		op(catalog.ActionID("always"), func(o *catalog.Operation) { o.ListedInCode = true }),
		op(catalog.ActionID("never"), func(o *catalog.Operation) { o.Reach &^= catalog.ReachTools }),
		op(catalog.CodeID("koan", "execute"), func(o *catalog.Operation) { o.Reach = catalog.ReachTools }),
	}})
	require.NoError(t, err)
	for mode, want := range map[exposure.Mode][]string{
		exposure.Code: {"always", "koan.code.execute"}, exposure.Full: {"always", "by-mode", "koan.code.execute"}, exposure.Tools: {"always", "by-mode"},
	} {
		v := s.View(auth.Local(), mode, true)
		var got []string
		for _, o := range v.Tools() {
			got = append(got, s.ToolName(o.ID))
		}
		require.Equal(t, want, got, mode)
		require.NotNil(t, v.Tool("by-mode"), mode)
		require.Nil(t, v.Tool("never"), mode)
	}
}

// What a script may reach belongs to what may be relied on of the tool that runs it.
func TestScriptEffectsAreThoseOfItsCalls(t *testing.T) {
	outside := op(catalog.PluginID("Mail", "send"), func(o *catalog.Operation) { o.Effects.Outside, o.Scopes = true, []string{"mail"} })
	execute := op(catalog.CodeID("koan", "execute"), func(o *catalog.Operation) { o.Reach, o.Effects.Destructive = catalog.ReachTools, true })
	check := op(catalog.CodeID("koan", "validate"), func(o *catalog.Operation) { o.Reach, o.Effects.ReadOnly = catalog.ReachTools, true })
	s, err := catalog.NewSnapshot(catalog.Offer{Operations: []*catalog.Operation{outside, execute, check, op(catalog.EntityID("Todo", "upsert"))}})
	require.NoError(t, err)
	everything := s.View(auth.Local(), exposure.Full, true)
	require.Equal(t, catalog.Effects{Destructive: true, Outside: true}, everything.Effects(execute))
	require.Equal(t, catalog.Effects{ReadOnly: true}, everything.Effects(check), "it runs nothing")
	require.Equal(t, catalog.Effects{}, everything.Effects(s.Operation(catalog.EntityID("Todo", "upsert"))))
	inside := s.View(auth.Principal{Subject: "ann", Sets: []string{"default"}}, exposure.Full, true)
	require.Equal(t, catalog.Effects{Destructive: true}, inside.Effects(execute), "who may send no letters cannot by script")
}

func TestMemo(t *testing.T) {
	v := shop(t).View(auth.Local(), exposure.Full, true)
	n := 0
	for range 3 {
		require.Equal(t, 1, catalog.Memo(v, "k", func() int { n++; return n }))
	}
}

func TestCounted(t *testing.T) {
	require.Equal(t, []string{"0 runs", "1 run", "2 runs"}, []string{catalog.Counted(0, "run"), catalog.Counted(1, "run"), catalog.Counted(2, "run")})
}

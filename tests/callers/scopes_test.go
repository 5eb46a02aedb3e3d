package callers

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// writers are the tools of an entity that change something.
var writers = map[string]map[string]any{
	"event.new":             {},
	"event.upsert":          {"model": map[string]any{"id": "x", "title": "x"}},
	"event.upsert-many":     {"models": []any{map[string]any{"id": "x", "title": "x"}}},
	"event.patch":           {"id": "opening", "changes": map[string]any{"title": "x"}},
	"event.update-by-query": {"filter": map[string]any{}, "all": true, "changes": map[string]any{"title": "x"}},
	"event.delete-by-query": {"filter": map[string]any{"id": "none"}},
	"event.delete":          {"id": "none"},
	"event.delete-many":     {"ids": []string{"none"}},
}

// TestTokensWithoutScopesChangeNothing: an entity whose schema names no scopes is read
// by every token, and written with the scope entities:write.
func TestTokensWithoutScopesChangeNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("none", "", "default")+token("other", "'member:read', 'member:write'", "default")+
		token("writer", "'entities:write'", "default")+token("all", "'*'", "default"))
	s := serve(t, dir, "--server.tokensFile", tokens, "--tools.style", "perEntity", "--server.toolNames", "dotted")
	for who, may := range map[string]bool{"none": false, "other": false, "writer": true, "all": true} {
		before := s.tool(who, "event.collection", nil).data()
		require.NotEmpty(t, before["items"], "everybody reads")
		listed := s.ask(who, "tools/list", nil).names(t, "tools", "name")
		types := s.ask(who, "resources/read", map[string]any{"uri": "koan://sdk/Event.d.ts"}).raw
		for tool, in := range writers {
			require.Equal(t, may, slices.Contains(listed, tool), "%s: %s", who, tool)
			got := s.tool(who, tool, in)
			if may {
				require.Empty(t, got.fault(), "%s: %s", who, got.raw)
				continue
			}
			require.Equal(t, "tool_not_found", got.fault(), "%s: %s", who, got.raw)
		}
		for _, method := range []string{"upsert(", "patch(", "deleteMany("} {
			require.Equal(t, may, strings.Contains(types, method), "%s: %s", who, method)
		}
		const script = "SDK.Entities.Event.upsert({id: 'y', title: 'y'})"
		checked := s.tool(who, "koan.code.validate", map[string]any{"code": script}).data()
		require.Equal(t, may, checked["valid"], "%s: %v", who, checked)
		require.Equal(t, may, s.script(who, script).fault() == "", who)
		require.Empty(t, s.script(who, "SDK.Entities.Event.count()").fault(), who)
		if !may {
			require.Equal(t, before, s.tool(who, "event.collection", nil).data())
		}
	}
	// What has scopes of its own asks for these.
	require.Equal(t, "tool_not_found", s.tool("writer", "member.upsert", map[string]any{"model": map[string]any{"id": "m", "name": "x"}}).fault())
	require.Empty(t, s.tool("other", "member.upsert", map[string]any{"model": map[string]any{"id": "m", "name": "x"}}).fault())
	require.Equal(t, "tool_not_found", s.tool("other", "member.delete", map[string]any{"id": "m"}).fault())
}

// TestWritesWithoutAuthentication: this machine's own address without tokens.
func TestWritesWithoutAuthentication(t *testing.T) {
	t.Parallel()
	s := serve(t, t.TempDir())
	require.Empty(t, s.tool("", "event.upsert", map[string]any{"model": map[string]any{"id": "x", "title": "x"}}).fault())
}

// TestWriteScopesReachTheOtherSideOfAnEdge: the links of a member are not changed by
// who may only read members.
func TestWriteScopesReachTheOtherSideOfAnEdge(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	tokens := write(t, dir, "tokens.yaml", "tokens:\n"+token("reads", "'entities:write', 'member:read'", "default")+token("writes", "'entities:write', 'member:read', 'member:write'", "default"))
	s := serve(t, dir, "--server.tokensFile", tokens)
	link := map[string]any{"id": "opening", "changes": map[string]any{"guests": []string{}}}
	before := s.tool("reads", "event.get-by-id", map[string]any{"id": "opening", "with": "guests"}).data()
	require.NotEmpty(t, before["guests"])
	got := s.tool("reads", "event.patch", link)
	require.Equal(t, "invalid_payload", got.fault(), got.raw)
	require.Contains(t, got.raw, "/changes/guests")
	require.Equal(t, "invalid_payload", s.script("reads", "SDK.Entities.Event.patch('opening', {guests: []})").fault())
	require.Equal(t, before, s.tool("reads", "event.get-by-id", map[string]any{"id": "opening", "with": "guests"}).data())
	require.Empty(t, s.tool("writes", "event.patch", link).fault())
	require.Empty(t, s.tool("writes", "event.get-by-id", map[string]any{"id": "opening", "with": "guests"}).data()["guests"])
}

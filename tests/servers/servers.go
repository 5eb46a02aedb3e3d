// Package servers has what public MCP servers list: their tools' names, descriptions and
// schemas, as the servers of npm packages sent them (capture/list.mjs). Tests use them as
// facts; none of them calls a tool.
package servers

import (
	"embed"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

//go:embed testdata/*.json
var files embed.FS

// Server is what one server lists.
type Server struct {
	ID      string            `json:"-"` // its id as an upstream
	Name    string            `json:"name"`
	Version string            `json:"version"`
	License string            `json:"license"`
	Tools   []json.RawMessage `json:"tools"`
}

// Everyday are the servers with 200 tools over which searches are measured.
var Everyday = []string{
	"airtable", "google-calendar", "brave-search", "everything", "filesystem", "github", "google-maps", "memory", "postgres", "sequential-thinking", "slack",
	"jira", "notion", "playwright", "todoist",
}

// ids are the servers' ids, by their packages.
var ids = map[string]string{
	"airtable-mcp-server": "airtable", "@cocal/google-calendar-mcp": "google-calendar", "@nexus2520/jira-mcp-server": "jira", "@notionhq/notion-mcp-server": "notion",
	"@playwright/mcp": "playwright", "todoist-mcp": "todoist", "@cloudflare/mcp-server-cloudflare": "cloudflare", "@delorenj/mcp-server-trello": "trello",
	"@hubspot/mcp-server": "hubspot", "mongodb-mcp-server": "mongodb", "@piotr-agier/google-drive-mcp": "google-drive", "@roychri/mcp-server-asana": "asana",
	"@tacticlaunch/mcp-linear": "linear", "@zereight/mcp-gitlab": "gitlab",
}

// All returns all servers, by id.
func All(t testing.TB) []Server {
	t.Helper()
	entries, err := files.ReadDir("testdata")
	require.NoError(t, err)
	var out []Server
	for _, e := range entries {
		raw, err := files.ReadFile(path.Join("testdata", e.Name()))
		require.NoError(t, err)
		var s Server
		require.NoError(t, json.Unmarshal(raw, &s), e.Name())
		if s.ID = ids[s.Name]; s.ID == "" {
			id, ok := strings.CutPrefix(s.Name, "@modelcontextprotocol/server-")
			require.True(t, ok, "%s has no id", s.Name)
			s.ID = id
		}
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b Server) int { return strings.Compare(a.ID, b.ID) })
	return out
}

// Named returns the servers with these ids.
func Named(t testing.TB, ids []string) []Server {
	t.Helper()
	out := slices.DeleteFunc(All(t), func(s Server) bool { return !slices.Contains(ids, s.ID) })
	require.Len(t, out, len(ids))
	return out
}

// Listen serves the lists of servers over HTTP, and returns the settings of an app whose
// upstreams they are. A call of a tool is refused.
func Listen(t testing.TB, servers []Server) []koantest.Setting {
	t.Helper()
	var out []koantest.Setting
	for _, s := range servers {
		listening := httptest.NewServer(s)
		t.Cleanup(listening.Close)
		out = append(out, koantest.Setting{Key: "upstreams." + s.ID + ".url", Value: listening.URL})
	}
	return out
}

// ServeHTTP speaks as much of MCP 2025-11-25 as listing tools takes.
func (s Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var m struct {
		ID     json.RawMessage
		Method string
	}
	if err := json.NewDecoder(r.Body).Decode(&m); err != nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var result any
	switch m.Method {
	case "initialize":
		result = map[string]any{"protocolVersion": "2025-11-25", "capabilities": map[string]any{"tools": map[string]any{}}, "serverInfo": map[string]any{"name": s.Name, "version": s.Version}}
	case "tools/list":
		result = map[string]any{"tools": s.Tools}
	default:
		if len(m.ID) == 0 {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no such method"}}`, m.ID)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(map[string]any{"jsonrpc": "2.0", "id": m.ID, "result": result}) // a client that has left reads nothing
}

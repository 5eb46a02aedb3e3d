package upstream

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/catalog"
)

// namedIn returns the ids and commands of the servers of a file, and why others are left out.
func namedIn(t *testing.T, text string, keys ...Config) (servers []string, leftOut []string) {
	t.Helper()
	file, _ := parseClientFile("mcp.json", []byte(text))
	all, err := join(keys, file)
	require.NoError(t, err)
	used, out := apart(all)
	for _, c := range used {
		require.NoError(t, c.wrong)
		require.True(t, catalog.ID{Kind: catalog.KindUpstream, Owner: c.ID, Op: catalog.AnyTool}.Valid(), c.ID)
		servers = append(servers, c.ID+" "+c.Command[0])
	}
	for _, c := range out {
		check := c.leftOutCheck()
		if c.off != "" {
			require.True(t, check.OK)
			leftOut = append(leftOut, check.Name+": "+check.Detail)
			continue
		}
		require.False(t, check.OK)
		require.Equal(t, renameHint, check.Hint)
		leftOut = append(leftOut, check.Name+": "+check.Detail)
	}
	return servers, leftOut
}

// What is configured for an id holds for the entry of this name, and for no other one.
func TestEntriesWithOneID(t *testing.T) {
	t.Parallel()
	rule := Config{ID: "my-notes", rules: rules{Effects: map[string]string{"*": "read"}}}
	servers, leftOut := namedIn(t, `{"mcpServers": {"my.notes": {"command": "a"}, "my notes": {"command": "b"}, "my-notes": {"command": "c"}}}`, rule)
	require.Equal(t, []string{"my-notes-82ebf6 a", "my-notes-f30ac2 b", "my-notes c"}, servers)
	require.Empty(t, leftOut)

	servers, leftOut = namedIn(t, `{"mcpServers": {"my.notes": {"command": "a"}, "my notes": {"command": "b"}}}`)
	require.Equal(t, []string{"my-notes a", "my-notes-f30ac2 b"}, servers, "the first in the file")
	require.Empty(t, leftOut)
	file, err := parseClientFile("mcp.json", []byte(`{"mcpServers": {"my.notes": {"command": "a"}, "my notes": {"command": "b"}}}`))
	require.NoError(t, err)
	require.Equal(t, `its id is my-notes-f30ac2, since my-notes is that of "my.notes"`, file[1].shared)

	_, leftOut = namedIn(t, `{"mcpServers": {"a": {"command": "a"}}, "servers": {"a": {"command": "b"}}}`)
	require.Equal(t, []string{"upstream a: mcp.json: a is left out: \"a\" is in both `mcpServers` and `servers`: the first is used"}, leftOut)
}

// No name of an entry keeps the others from starting.
func TestNamesThatCannotBeIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	servers, leftOut := namedIn(t, `{"mcpServers": {"": {"command": "a"}, "...": {"command": "b"}, "  ": {"command": "c"}, "\u0001\n": {"command": "d"}, "`+long+`": {"command": "e"}, "ok": {"command": "f"}}}`)
	require.Equal(t, []string{"--- b", "-- c", "---c04b5b d", "ok f"}, servers)
	require.Len(t, leftOut, 2)
	require.Equal(t, `upstream "": mcp.json: "" is left out: the name is empty`, leftOut[0])
	require.Contains(t, leftOut[1], "is left out: the name has more than 128 bytes")
	require.Less(t, len(leftOut[1]), 400)
}

func TestNamesInAllScripts(t *testing.T) {
	t.Parallel()
	servers, leftOut := namedIn(t, `{"mcpServers": {"сервер": {"command": "a"}, "ссылка": {"command": "b"}, "données": {"command": "c"}, "$x": {"command": "d"}, "メモ": {"command": "e"}, "my_notes": {"command": "f"}, "моя служба": {"command": "g"}}}`)
	require.Equal(t, []string{"сервер a", "ссылка b", "données c", "$x d", "メモ e", "my_notes f", "моя-служба g"}, servers)
	require.Empty(t, leftOut)
}

// What another project has under a name is said where the server of this name is.
func TestHiddenServersOfProjectsAreNamed(t *testing.T) {
	here := t.TempDir()
	t.Chdir(here)
	file, err := parseClientFile(".claude.json", fmt.Appendf(nil, `{"mcpServers": {"a": {"command": "user"}}, "projects": {"/other": {"mcpServers": {"a": {"command": "other"}}}, %q: {"mcpServers": {"a": {"command": "here"}}}}}`, here))
	require.Error(t, err)
	require.Len(t, file, 1)
	require.Equal(t, []string{"here"}, file[0].Command)
	require.Equal(t, []string{"a (another server of this name)", "projects./other.a (another server of this name)"}, file[0].notes)
}

// An entry that is switched off holds no id, says so, and is started by no configuration.
func TestEntriesThatAreSwitchedOff(t *testing.T) {
	t.Parallel()
	rule := Config{ID: "notes", rules: rules{Effects: map[string]string{"*": "read"}}}
	servers, leftOut := namedIn(t, `{"mcpServers": {"notes": {"command": "a", "disabled": true}}, "servers": {"notes": {"command": "b"}}}`, rule)
	require.Equal(t, []string{"notes b"}, servers)
	require.Equal(t, []string{"upstream notes: mcp.json: notes is switched off (disabled: true)"}, leftOut)

	servers, leftOut = namedIn(t, `{"mcpServers": {"my-notes": {"command": "a", "enabled": false}, "my notes": {"command": "b"}}}`)
	require.Equal(t, []string{"my-notes b"}, servers)
	require.Equal(t, []string{`upstream my-notes: mcp.json: my-notes is switched off (enabled: false); its id, my-notes, is that of "my notes" meanwhile, and so is what is configured for it`}, leftOut)

	servers, leftOut = namedIn(t, `{"mcpServers": {"notes": {"command": "a", "disabled": true}}}`, rule)
	require.Empty(t, servers, "a rule for it starts nothing, and is no mistake")
	require.Len(t, leftOut, 1)

	servers, _ = namedIn(t, `{"mcpServers": {"notes": {"command": "a", "disabled": true}}}`, Config{ID: "notes", Command: []string{"own"}})
	require.Equal(t, []string{"notes own"}, servers)
}

// A name has one id, however its accents are spelt; others that come to it have one of their own.
func TestNamesThatAreSpeltAlike(t *testing.T) {
	t.Parallel()
	const composed, apart = "donn\u00e9es", "donne\u0301es"
	require.Equal(t, catalog.UpstreamID(composed), catalog.UpstreamID(apart))
	servers, leftOut := namedIn(t, `{"mcpServers": {"`+apart+`": {"command": "a"}}}`, Config{ID: composed, rules: rules{Effects: map[string]string{"*": "read"}}})
	require.Equal(t, []string{composed + " a"}, servers)
	require.Empty(t, leftOut)
	ids := map[string]bool{}
	servers, leftOut = namedIn(t, `{"mcpServers": {"`+apart+`": {"command": "x"}, "`+composed+`": {"command": "x"}, "🚀": {"command": "x"}, "🎉": {"command": "x"}, "🚀 deploy": {"command": "x"}, "🎉 deploy": {"command": "x"}, "a b": {"command": "x"}, "a\tb": {"command": "x"}, "a_b": {"command": "x"}}}`)
	require.Len(t, servers, 9)
	require.Empty(t, leftOut)
	for _, id := range servers {
		ids[id] = true
	}
	require.Len(t, ids, 9)
	id, err := catalog.ParseID("upstream::" + apart + "::work")
	require.NoError(t, err)
	require.Equal(t, composed, id.Owner)
}

// The order of Codex's servers is that of its file.
func TestOrderOfCodexServers(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"[mcp_servers.z]\ncommand = \"x\"\n[mcp_servers.a.env]\nA = \"b\"\n[mcp_servers.m]\ncommand = \"x\"\n[mcp_servers.a]\ncommand = \"x\"\n": {"z", "a", "m"},
		"[mcp_servers]\nz = { command = \"x\" }\na.command = \"x\"\n":                                                                            {"z", "a"},
		"mcp_servers = { z = { command = \"x\" }, \"a b\" = { command = \"x\" } }\n":                                                             {"z", "a-b"},
		"mcp_servers.z.command = \"x\"\nmcp_servers.\"a.b\".command = \"x\"\n[other]\nb = 1\n":                                                   {"z", "a-b"},
		"[mcp_servers.\"z z\"]\ncommand = \"first\"\n[mcp_servers.\"z.z\"]\ncommand = \"x\"\n":                                                   {"z-z", "z-z-348606"},
	} {
		got, err := parseClientFile("config.toml", []byte(text))
		require.NoError(t, err)
		var ids []string
		for _, c := range got {
			ids = append(ids, c.ID)
		}
		require.Equal(t, want, ids, text)
	}
}

func TestInstallAndTheGatewayTakeTheSameEntry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := []byte(`{"mcpServers": {"z z": {"command": "first"}, "a a": {"command": "x"}, "z.z": {"command": "second"}}}`)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	file, err := readClientFile(path)
	require.NoError(t, err)
	require.Equal(t, "z-z", file[0].ID)
	require.Equal(t, []string{"first"}, file[0].Command)
	require.NotEqual(t, "z-z", file[2].ID)
}

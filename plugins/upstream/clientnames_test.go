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
		require.False(t, check.OK)
		require.Equal(t, renameHint, check.Hint)
		leftOut = append(leftOut, check.Name+": "+check.Detail)
	}
	return servers, leftOut
}

// What is configured for an id holds for the entry of this name, and for no other one.
func TestEntriesWithOneID(t *testing.T) {
	t.Parallel()
	rule := Config{ID: "my-notes", Effects: map[string]string{"*": "read"}}
	servers, leftOut := namedIn(t, `{"mcpServers": {"my.notes": {"command": "a"}, "my notes": {"command": "b"}, "my-notes": {"command": "c"}}}`, rule)
	require.Equal(t, []string{"my-notes c"}, servers)
	require.Equal(t, []string{
		`upstream "my.notes": mcp.json: "my.notes" is left out: my-notes and "my.notes" have the same id, my-notes`,
		`upstream "my notes": mcp.json: "my notes" is left out: my-notes and "my notes" have the same id, my-notes`,
	}, leftOut)

	servers, leftOut = namedIn(t, `{"mcpServers": {"my.notes": {"command": "a"}, "my notes": {"command": "b"}}}`)
	require.Equal(t, []string{"my-notes a"}, servers, "the first in the file")
	require.Equal(t, []string{`upstream "my notes": mcp.json: "my notes" is left out: "my.notes" and "my notes" have the same id, my-notes`}, leftOut)

	_, leftOut = namedIn(t, `{"mcpServers": {"a": {"command": "a"}}, "servers": {"a": {"command": "b"}}}`)
	require.Equal(t, []string{"upstream a: mcp.json: a is left out: \"a\" is in both `mcpServers` and `servers`: the first is used"}, leftOut)
}

// No name of an entry keeps the others from starting.
func TestNamesThatCannotBeIDs(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 1000)
	servers, leftOut := namedIn(t, `{"mcpServers": {"": {"command": "a"}, "...": {"command": "b"}, "  ": {"command": "c"}, "\u0001\n": {"command": "d"}, "`+long+`": {"command": "e"}, "ok": {"command": "f"}}}`)
	require.Equal(t, []string{"--- b", "-- c", "ok f"}, servers)
	require.Len(t, leftOut, 3)
	require.Equal(t, `upstream "": mcp.json: "" is left out: the name is empty`, leftOut[0])
	require.Contains(t, leftOut[1], `mcp.json: "\x01\n" is left out: "  " and "\x01\n" have the same id, --`)
	require.Contains(t, leftOut[2], "is left out: the name has more than 128 bytes")
	require.Less(t, len(leftOut[2]), 400)
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

func TestInstallAndTheGatewayTakeTheSameEntry(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "mcp.json")
	text := []byte(`{"mcpServers": {"z z": {"command": "first"}, "a a": {"command": "x"}, "z.z": {"command": "second"}}}`)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	file, err := readClientFile(path)
	require.ErrorContains(t, err, `"z z" and "z.z" have the same id, z-z`)
	require.Equal(t, []string{"first"}, file[0].Command)
	require.False(t, file[0].leftOut)
	require.True(t, file[2].leftOut)
}

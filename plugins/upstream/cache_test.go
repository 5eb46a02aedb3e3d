package upstream

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestListingsAreKeptOnDisk(t *testing.T) {
	t.Parallel()
	c := &cache{dir: filepath.Join(t.TempDir(), "upstreams")}
	cfg := &Config{ID: "x", URL: "https://example.org/mcp"}
	got, err := c.read(cfg)
	require.NoError(t, err)
	require.Nil(t, got)

	l := &listing{About: about{Name: "n", Version: "1"}, Tools: []json.RawMessage{json.RawMessage(`{"name":"a"}`)}, At: time.Now().UTC()}
	require.NoError(t, c.write(cfg, l))
	got, err = c.read(cfg)
	require.NoError(t, err)
	require.True(t, got.equal(l))
	info, err := os.Stat(c.path(cfg))
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode().Perm())

	got, err = c.read(&Config{ID: "x", URL: "https://example.org/other"})
	require.NoError(t, err)
	require.Nil(t, got, "another address is another server")
	got, err = c.read(&Config{ID: "x", URL: "https://example.org/mcp", Env: map[string]string{"TOOLSETS": "all"}})
	require.NoError(t, err)
	require.Nil(t, got, "and so is another environment")

	require.NoError(t, os.WriteFile(c.path(cfg), []byte(`{"format":1,"tools":[`), 0o600))
	got, err = c.read(cfg)
	require.Error(t, err)
	require.Nil(t, got)
	require.NoError(t, os.WriteFile(c.path(cfg), []byte(`{"format":99}`), 0o600))
	got, err = c.read(cfg)
	require.NoError(t, err)
	require.Nil(t, got, "another build's file is not read")

	require.NoError(t, os.RemoveAll(c.dir))
	require.NoError(t, os.WriteFile(c.dir, nil, 0o600)) // a file where the folder would be
	require.Error(t, c.write(cfg, l))
}

// A start does not look at the schemas again: what is kept says which cannot be used.
func TestUnusableSchemasAreKnownFromTheDisk(t *testing.T) {
	t.Parallel()
	c, cfg := &cache{dir: t.TempDir()}, &Config{ID: "x", URL: "https://example.org/mcp"}
	tools := compact([]json.RawMessage{json.RawMessage(`{ "name": "a", "inputSchema": { "type": "object", "properties": { "p": { "pattern": "^(?!<b>)&" } } } }`)})
	l := &listing{Tools: tools}
	l.check()
	require.NoError(t, c.write(cfg, l))
	got, err := c.read(cfg)
	require.NoError(t, err)
	require.True(t, got.equal(l))
	var read tool
	require.NoError(t, json.Unmarshal(got.Tools[0], &read))
	require.NotEmpty(t, got.unusable(read.InputSchema))
}

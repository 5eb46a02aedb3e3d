package main

import (
	"bytes"
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// maxBytes is what the page may take, compressed (CONTRACT section 13).
const maxBytes = 1_400_000

func TestCommittedFilesAreCurrent(t *testing.T) {
	made, err := bundle("../web")
	require.NoError(t, err)
	dist := filepath.Join("..", "web", "dist")
	entries, err := os.ReadDir(dist)
	require.NoError(t, err)
	var names []string
	total := 0
	for _, e := range entries {
		raw, err := os.ReadFile(filepath.Join(dist, e.Name()))
		require.NoError(t, err)
		total += len(raw)
		packed, err := gzip.NewReader(bytes.NewReader(raw))
		require.NoError(t, err)
		plain, err := io.ReadAll(packed)
		require.NoError(t, err)
		name := strings.TrimSuffix(e.Name(), ".gz")
		names = append(names, name)
		require.True(t, bytes.Equal(made[name], plain), "%s is stale; `go generate ./framework/internal/console` makes it anew", name)
	}
	require.Len(t, made, len(names), "files are missing: %v", names)
	require.Less(t, total, maxBytes, "bytes of all files, compressed")
}

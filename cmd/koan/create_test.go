package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestNewRefusesFoldersWithoutAName(t *testing.T) {
	source, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	for _, dir := range []string{"", " ", "...", "___", "ünï", "日本", "apps/Ünder", "u\u0308ber", "/"} {
		t.Chdir(t.TempDir())
		var stdout, stderr bytes.Buffer
		require.Equal(t, 2, run([]string{"new", dir, "--koan-src", source}, &stdout, &stderr), dir)
		require.Contains(t, stderr.String(), "the letters a to z, digits and hyphens", dir)
		require.Empty(t, stdout.String())
		entries, err := os.ReadDir(".")
		require.NoError(t, err)
		require.Empty(t, entries, dir)
	}
}

func TestNewCallsTheAppAfterItsFolder(t *testing.T) {
	source, err := filepath.Abs(filepath.Join("..", ".."))
	require.NoError(t, err)
	for dir, name := range map[string]string{"My App": "my-app", "apps/ünï/to-do_2": "to-do-2", "todo–list": "todo-list"} {
		t.Chdir(t.TempDir())
		var stdout, stderr bytes.Buffer
		require.Zero(t, run([]string{"new", dir, "--koan-src", source}, &stdout, &stderr), stderr.String())
		mod, err := os.ReadFile(filepath.Join(dir, "go.mod"))
		require.NoError(t, err)
		require.Contains(t, string(mod), "module "+name+"\n")
	}
}

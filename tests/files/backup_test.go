package files

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework"
	"github.com/koan-go/koan/framework/auth"
	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/tests/fixture"
)

// backedUp is the parts of a data folder that the page about backups names, NAME being any.
func backedUp(t *testing.T) (patterns []string) {
	t.Helper()
	page, err := os.ReadFile("../../docs/howto/backup.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "|---|---|\n")
	table, _, _ = strings.Cut(table, "\n\n")
	for _, row := range strings.Split(table, "\n") {
		first, _, _ := strings.Cut(strings.TrimPrefix(row, "|"), "|")
		if strings.Contains(row, "do not back up") {
			continue
		}
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			patterns = append(patterns, strings.ReplaceAll(strings.TrimSuffix(name[1], "/"), "NAME", "*"))
		}
	}
	require.NotEmpty(t, patterns)
	return patterns
}

// A backup by the book has everything that rows refer to.
func TestABackupHasTheFiles(t *testing.T) {
	start := func(folder string) *framework.Instance {
		i, err := framework.New(t.Context(), fixture.App(), framework.Options{Config: framework.Source{Flags: map[string]string{"database": "sqlite://" + folder, "journal.enabled": "true"}}, Testing: true})
		require.NoError(t, err)
		return i
	}
	from, to := t.TempDir(), t.TempDir()
	i := start(from)
	store, err := i.Files(auth.Local(), "create")
	require.NoError(t, err)
	f, err := store.Put(t.Context(), framework.Upload{Set: "default", Owner: auth.Local().Subject, Body: strings.NewReader("a picture")})
	require.NoError(t, err)
	require.NoError(t, i.Stop(t.Context()))
	for _, pattern := range backedUp(t) {
		found, err := filepath.Glob(filepath.Join(from, pattern))
		require.NoError(t, err)
		for _, path := range found {
			info, err := os.Stat(path)
			require.NoError(t, err)
			if info.IsDir() {
				require.NoError(t, os.CopyFS(filepath.Join(to, info.Name()), os.DirFS(path)))
				continue
			}
			data, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(to, info.Name()), data, 0o600))
		}
	}
	i = start(to)
	t.Cleanup(func() { _ = i.Stop(t.Context()) })
	store, err = i.Files(auth.Local(), "get")
	require.NoError(t, err)
	data, _, err := store.Bytes(t.Context(), auth.Local(), f.ID, 100)
	require.NotEqual(t, fault.NotFound, fault.CodeOf(err))
	require.NoError(t, err)
	require.Equal(t, "a picture", string(data))
}

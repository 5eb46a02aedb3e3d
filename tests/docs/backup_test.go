package docs

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A young app has neither a key of its journal nor files: the commands of the page copy what there is.
func TestBackupCopiesWhatThereIs(t *testing.T) {
	page, err := os.ReadFile("../../docs/howto/backup.md")
	require.NoError(t, err)
	block := regexp.MustCompile("(?s)```sh\n([^`]*journal\\.key[^`]*)```").FindSubmatch(page)
	require.NotNil(t, block)
	data := t.TempDir()
	copied := func() (names []string) {
		t.Helper()
		to := t.TempDir()
		c := exec.Command("sh", "-euc", strings.ReplaceAll(string(block[1]), "/backup/", to+"/"))
		c.Dir = data
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Empty(t, out)
		require.NoError(t, filepath.WalkDir(to, func(path string, d os.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, strings.TrimPrefix(path, to+"/"))
			}
			return err
		}))
		return names
	}
	require.Empty(t, copied())
	require.NoError(t, os.WriteFile(filepath.Join(data, "journal.key"), []byte("key"), 0o600))
	require.Equal(t, []string{"journal.key"}, copied())
	require.NoError(t, os.MkdirAll(filepath.Join(data, "files", "ab"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(data, "files", "ab", "cd"), []byte("bytes"), 0o600))
	require.Equal(t, []string{"files/ab/cd", "journal.key"}, copied())
}

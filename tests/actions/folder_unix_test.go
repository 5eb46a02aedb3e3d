//go:build unix

package actions

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/koantest"
)

// What is no regular file is left out of a folder, and nobody waits for its writer: at the start,
// when the folder is read again, and at the end.
func TestFolderLeavesOutWhatIsNoFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	put(t, folder, "hello.js", hello)
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "pipe.js"), 0o600))
	require.NoError(t, os.Mkdir(filepath.Join(folder, "folder.js"), 0o700))
	require.NoError(t, os.Symlink("loop.js", filepath.Join(folder, "loop.js")))
	require.NoError(t, os.Symlink("/dev/zero", filepath.Join(folder, "device.js")))
	kit := start(t, nil, koantest.Setting{Key: "actions.dir", Value: folder})
	out, err := kit.Call("action::hello", map[string]any{})
	require.NoError(t, err)
	require.Equal(t, `"hello"`, string(out))
	require.NoError(t, syscall.Mkfifo(filepath.Join(folder, "later.js"), 0o600))
	put(t, folder, "second.js", hello)
	offered(t, kit, "second", true)
	offered(t, kit, "pipe", false)
}

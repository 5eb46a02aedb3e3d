package plugins

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// What an app that was killed has left behind is gone when the next one starts; what a living one
// has stays.
func TestOrphansOfAKilledApp(t *testing.T) {
	t.Parallel()
	var apps [2]*exec.Cmd
	var children [2]string
	var folders [2]string
	for i := range apps {
		dir := pluginsDir(t, "parent")
		self, err := os.Executable()
		require.NoError(t, err)
		app := filepath.Join(filepath.Dir(dir), "app-with-child")
		require.NoError(t, os.Symlink(self, app))
		apps[i] = exec.Command(app)
		out, err := apps[i].StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, apps[i].Start())
		t.Cleanup(func() { _ = apps[i].Process.Kill(); _ = apps[i].Wait() })
		var child int
		_, err = fmt.Fscan(out, &child, &folders[i])
		require.NoError(t, err)
		children[i] = strconv.Itoa(child)
		require.True(t, alive(children[i]))
		require.DirExists(t, folders[i])
	}
	require.NoError(t, apps[0].Process.Kill())
	_ = apps[0].Wait()
	start(t, pluginsDir(t, "echo"), nil)
	require.Eventually(t, func() bool { return !alive(children[0]) }, 20*time.Second, 20*time.Millisecond)
	require.Eventually(t, func() bool { _, err := os.Stat(folders[0]); return os.IsNotExist(err) }, 20*time.Second, 20*time.Millisecond)
	require.True(t, alive(children[1]))
	require.DirExists(t, folders[1])
	require.NoError(t, exec.Command("kill", children[1]).Run())
}

func TestNamesOfProcesses(t *testing.T) {
	t.Parallel()
	require.False(t, isDead(owner()))
	for _, other := range []string{"", "1", "a.b", "1.2.3", "x.y.!", "1.2.0"} {
		require.False(t, isDead(other), other)
	}
}

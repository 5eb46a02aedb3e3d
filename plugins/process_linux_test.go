package plugins

import (
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPluginChildrenDieWithIt, however it ends, and whether or not they have left its
// process group. They hold the pipes to the app, too.
func TestPluginChildrenDieWithIt(t *testing.T) {
	t.Parallel()
	for _, how := range []string{"killed", "stopped"} {
		t.Run(how, func(t *testing.T) {
			b := start(t, pluginsDir(t, "parent"), nil)
			near, far := b.parent("begin", parentIn{}), b.parent("begin", parentIn{Session: true})
			for _, pid := range []int{near.Child, far.Child} {
				require.True(t, alive(strconv.Itoa(pid)))
			}
			if how == "killed" {
				require.NoError(t, syscall.Kill(near.Pid, syscall.SIGKILL))
			} else {
				begin := time.Now()
				require.NoError(t, b.provider.Stop(t.Context()))
				require.Less(t, time.Since(begin), 8*time.Second)
			}
			for _, pid := range []int{near.Pid, near.Child, far.Child} {
				require.Eventually(t, func() bool { return !alive(strconv.Itoa(pid)) }, 5*time.Second, 10*time.Millisecond, pid)
			}
			if how == "killed" {
				again := b.parent("begin", parentIn{})
				require.NotEqual(t, near.Pid, again.Pid, "its death was noticed though its children held its pipes")
			}
		})
	}
}

package ledger

import (
	"fmt"
	process "os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/database/sqltext"
)

func TestMarksTellWhoIsGone(t *testing.T) {
	own := Marked("w")
	require.NotEqual(t, "w", own)
	require.Equal(t, own, Marked("w"))
	require.False(t, hasEnded(own), "this process is there")
	for _, name := range []string{"", "w", "w@", "w@x", "w@x/y/z", "w@" + strings.Repeat("/", 9)} {
		require.False(t, hasEnded(name), "%q is no process of this system", name)
	}
	parts := strings.Split(own, "/")
	changed := func(back int, to string) string {
		other := append([]string{}, parts...)
		other[len(other)-back] = to
		return strings.Join(other, "/")
	}
	require.True(t, hasEnded(changed(1, "1")), "another process has its id")
	require.False(t, hasEnded(changed(2, "-1")))
	require.False(t, hasEnded(changed(2, "0")))
	rebooted := strings.Replace(own, "@", "@another", 1)
	require.False(t, hasEnded(rebooted), "another boot, or another machine")
	require.False(t, place{dialect: sqltext.PostgreSQL{}}.hasEnded(rebooted), "a server has clients on many machines")
	require.True(t, place{dialect: sqltext.SQLite{}}.hasEnded(rebooted), "a file has users on one")
	require.False(t, place{dialect: sqltext.SQLite{}}.hasEnded(own))
	require.False(t, place{dialect: sqltext.SQLite{}}.hasEnded("w"))

	child := process.Command("sleep", "60")
	require.NoError(t, child.Start())
	start, err := startTime(child.Process.Pid)
	require.NoError(t, err)
	name := changed(2, fmt.Sprint(child.Process.Pid))
	name = name[:strings.LastIndexByte(name, '/')+1] + start
	require.False(t, hasEnded(name))
	require.NoError(t, child.Process.Kill())
	require.Eventually(t, func() bool { return hasEnded(name) }, 10*time.Second, time.Millisecond, "before its parent has noticed")
	_ = child.Wait()
	require.True(t, hasEnded(name))
}

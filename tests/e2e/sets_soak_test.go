//go:build soak

package e2e

import (
	"fmt"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/tests/pgtest"
)

// TestSoakThousandSets makes, writes and reads a thousand sets through one server,
// whose open files and memory stay what they are with a hundred.
func TestSoakThousandSets(t *testing.T) {
	if pgtest.ForEach(t, TestSoakThousandSets) {
		return
	}
	g := newGrows(t, "auto")
	p := start(t, g.command(2, "serve"))
	require.Nil(t, p.call("initialize", input{"protocolVersion": "2025-11-25", "capabilities": input{}, "clientInfo": input{"name": "e2e", "version": "1"}}).Error)
	p.notify("notifications/initialized", input{})
	usage := func() (files, megabytes int) {
		open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.cmd.Process.Pid))
		require.NoError(t, err)
		raw, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
		require.NoError(t, err)
		var all, resident int
		_, err = fmt.Sscan(string(raw), &all, &resident)
		require.NoError(t, err)
		return len(open), resident * os.Getpagesize() >> 20
	}
	var files, megabytes int
	for n := range 1000 {
		if n == 100 {
			files, megabytes = usage()
		}
		r := p.tool("note.upsert", input{"model": input{"id": "same", "title": fmt.Sprint("of ", n)}, "set": fmt.Sprint("tenant-", n)})
		require.False(t, r.IsError, "%s", r.Structured)
	}
	for n := range 1000 {
		r := p.tool("note.get-by-id", input{"id": "same", "set": fmt.Sprint("tenant-", n)})
		require.Contains(t, string(r.Structured), fmt.Sprintf(`"of %d"`, n))
	}
	after, grown := usage()
	t.Logf("open files %d, then %d; memory %d MB, then %d MB", files, after, megabytes, grown)
	require.LessOrEqual(t, after, files+48)
	require.LessOrEqual(t, grown, megabytes+64)
}

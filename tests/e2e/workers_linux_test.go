package e2e

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestScriptsOfACallerShareAProcess: the workers of a server stay from script to
// script, and with sandbox.fresh none does.
func TestScriptsOfACallerShareAProcess(t *testing.T) {
	t.Parallel()
	for fresh, flags := range map[bool][]string{false: nil, true: {"--sandbox.fresh", "true"}} {
		p := newApp(t).serve(flags...)
		p.execute("1")
		var before, after []string
		settled := func() []string { // until what replaces the first worker is there, and who was ended is gone
			var last []string
			deadline := time.Now().Add(30 * time.Second)
			for same := 0; (same < 5 || len(last) == 0) && time.Now().Before(deadline); {
				time.Sleep(50 * time.Millisecond)
				now := workersOf(t, p.cmd.Process.Pid)
				slices.Sort(now)
				if same++; !slices.Equal(now, last) {
					same = 0
				}
				last = now
			}
			return last
		}
		before = settled()
		require.NotEmpty(t, before)
		for range 10 {
			p.execute("SDK.Entities.Todo.count()")
		}
		after = settled()
		if fresh {
			require.False(t, slices.ContainsFunc(after, func(pid string) bool { return slices.Contains(before, pid) }), "%v %v", before, after)
		} else {
			require.Subset(t, after, before)
			require.LessOrEqual(t, len(after), len(before)+1, "one that waits for the next caller may have come later")
		}
		p.close()
	}
}

package plugins_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/koantest"
	"github.com/koan-go/koan/framework/run/replay"
)

// A recorded run is replayed against a new build: its calls of the plugin are made again, and compared with what
// the old build returned.
func TestReplayAgainstANewBuild(t *testing.T) {
	t.Parallel()
	k, rebuild := post(t, declared{}, set("replay.keep", "scripts"), set("journal.enabled", "true"))
	r := k.Run(`const first = SDK.Mail.list({ text: "one" }).text; SDK.Out.answer(first + SDK.Mail.list({ text: "two" }).text)`, koantest.Input{})
	again := func(plugins ...string) *replay.Replayed {
		var out *replay.Replayed
		require.Eventually(t, func() (kept bool) {
			var err error
			if out, err = k.Instance().Replay(t.Context(), r.RunID, false, plugins...); fault.CodeOf(err) == fault.NotFound {
				return false // it is written soon
			}
			require.NoError(t, err)
			return true
		}, 20*time.Second, 50*time.Millisecond)
		return out
	}
	require.True(t, again().Identical)
	same := again("mail")
	require.True(t, same.Identical, "%v", same.Difference)
	require.Equal(t, []string{"mail"}, same.Plugins)

	rebuild(declared{From: "Ann"})
	require.True(t, again().Identical, "nothing is asked without")
	other := again("mail")
	require.False(t, other.Identical)
	require.Equal(t, replay.InOutput, other.Difference.In)
	require.Equal(t, 1, other.Difference.Call)
	require.Equal(t, "plugin::mail.list", other.Difference.Operation)
	require.Contains(t, other.Difference.Recorded, "Bob writes")
	require.Contains(t, other.Difference.Now, "Ann writes")

	_, err := k.Instance().Replay(t.Context(), r.RunID, false, "post")
	require.Equal(t, fault.InvalidPayload, fault.CodeOf(err))
	sent := k.Run(script, koantest.Input{})
	rebuild(declared{Outside: true})
	r = sent
	blocked := again("mail")
	require.False(t, blocked.Identical, "a dry run lets no call act outside")
	require.Contains(t, blocked.Difference.Now, string(fault.DryRunBlocked))
}

package plugins

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestCall(t *testing.T) {
	b := start(t, pluginsDir(t, "echo"), nil)
	out, err := b.say(echoIn{Text: "hi"})
	require.NoError(t, err)
	require.Equal(t, "hi", out.Text)
	require.Equal(t, "default", out.Set)
	require.Equal(t, "t1", out.Trace)
	require.NotEmpty(t, out.Key)
	require.Equal(t, "hello", out.Setting)
}

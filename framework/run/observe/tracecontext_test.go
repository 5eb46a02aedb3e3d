package observe_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/observe"
)

func TestTraceContext(t *testing.T) {
	const id, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for parent, want := range map[string]string{
		"00-" + id + "-" + span + "-01":                      id,
		"01-" + id + "-" + span + "-01-more":                 id, // of a later version
		"00-" + id + "-" + span + "-01-more":                 "",
		"ff-" + id + "-" + span + "-01":                      "",
		"00-" + strings.ToUpper(id) + "-" + span + "-01":     "",
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01": "",
		"00-" + id + "-" + strings.Repeat("0", 16) + "-01":   "",
		"00-" + id + "-" + span:                              "",
		"00-" + id + "-" + span + "-1":                       "",
		"":                                                   "",
		"---":                                                "",
		"00-" + id + "\r\nx: y-" + span + "-01":              "",
	} {
		require.Equal(t, want, observe.TraceContext{Parent: parent}.ID(), parent)
	}
	long := observe.TraceContext{Parent: "00-" + id + "-" + span + "-01", State: strings.Repeat("a", 600)}
	require.Equal(t, observe.TraceContext{Parent: long.Parent}, long.Bounded())
	require.Zero(t, observe.TraceContext{Parent: "x", State: "a=1"}.Bounded())
}

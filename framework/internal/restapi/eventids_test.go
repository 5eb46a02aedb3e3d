package restapi

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/seal"
)

func TestEventIDsHideHowManyCommitsThereAre(t *testing.T) {
	s := seal.Random()
	ids := &eventIDs{s, s.Stable("event id")}
	one := ids.write("default:1:0123abcd")
	seen := map[string]bool{one: true}
	for _, position := range []string{"default:9:0123abcd", "default:10:0123abcd", "default:123456789:0123abcd"} {
		require.Equal(t, ids.write(position), ids.write(position), "events have one id")
		for _, id := range []string{ids.write(position), ids.vary(position), ids.vary(position)} {
			require.False(t, seen[id], "heartbeats have others, whether something has happened or not")
			seen[id] = true
			require.Len(t, id, len(one))
			require.Equal(t, position, ids.read(id))
			require.NotContains(t, id, "default")
		}
	}
	for _, text := range []string{"", "default:10:0123abcd", "nonsense", one[1:]} {
		require.Equal(t, text, ids.read(text), "what is no id stays as it is")
	}
}

package descriptor_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/entities/descriptor"
)

func TestKeysOfSeveralColumnsAreOneText(t *testing.T) {
	for id, values := range map[string][]string{"10248,11": {"10248", "11"}, "a%2Cb,100%25": {"a,b", "100%"}, ",": {"", ""}} {
		require.Equal(t, id, descriptor.JoinKey(values))
		got, ok := descriptor.SplitKey(id, len(values))
		require.True(t, ok)
		require.Equal(t, values, got)
	}
	for _, id := range []string{"", "1", "1,2,3", "1,%", "1,%2c", "%41,1"} {
		_, ok := descriptor.SplitKey(id, 2)
		require.False(t, ok, id)
	}
}

func FuzzSplitKey(f *testing.F) {
	f.Add("1,2", "a", "b")
	f.Add("%2C,%25", ",", "%")
	f.Fuzz(func(t *testing.T, id, a, b string) {
		if values, ok := descriptor.SplitKey(id, 2); ok {
			require.Equal(t, id, descriptor.JoinKey(values))
		}
		got, ok := descriptor.SplitKey(descriptor.JoinKey([]string{a, b}), 2)
		require.True(t, ok)
		require.Equal(t, []string{a, b}, got)
	})
}

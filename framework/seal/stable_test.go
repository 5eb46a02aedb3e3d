package seal

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestStableSeals(t *testing.T) {
	one, two := Random(), Random()
	s := one.Stable("ids")
	sealed := s.Seal([]byte("content"))
	require.Equal(t, sealed, one.Stable("ids").Seal([]byte("content")), "replicas seal alike")
	content, ok := one.Stable("ids").Open(sealed)
	require.True(t, ok)
	require.Equal(t, "content", string(content))
	require.NotContains(t, sealed, "content")
	seen := map[string]bool{}
	for _, other := range []string{sealed, s.Seal([]byte("contenu")), one.Stable("others").Seal([]byte("content")), two.Stable("ids").Seal([]byte("content"))} {
		require.False(t, seen[other])
		seen[other] = true
		if _, ok := s.Open(other); other != sealed {
			_, isOwn := map[string]bool{s.Seal([]byte("contenu")): true}[other]
			require.Equal(t, isOwn, ok)
		}
	}
}

func FuzzOpenStable(f *testing.F) {
	s := Random().Stable("ids")
	sealed := s.Seal([]byte("content"))
	f.Add(sealed)
	f.Add("")
	f.Fuzz(func(t *testing.T, text string) {
		if content, ok := s.Open(text); ok {
			require.Equal(t, text, s.Seal(content))
		}
	})
}

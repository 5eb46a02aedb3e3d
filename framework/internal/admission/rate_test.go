package admission

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestPace(t *testing.T) {
	now := time.Unix(1000, 0)
	p := newRateLimiter()
	const limit = 6 // one each 10 s
	for range 6 {
		require.Zero(t, p.take("ann", limit, now))
	}
	require.Equal(t, 10*time.Second, p.take("ann", limit, now))
	require.Zero(t, p.take("bob", limit, now), "somebody else's is their own")
	now = now.Add(4 * time.Second)
	require.Equal(t, 6*time.Second, p.take("ann", limit, now), "refused ones do not count")
	now = now.Add(6 * time.Second)
	require.Zero(t, p.take("ann", limit, now))
	require.NotZero(t, p.take("ann", limit, now))
	p.evictFull(now)
	require.Len(t, p.full, 1, "bob's is full again, ann's is not")
	now = now.Add(time.Minute)
	p.evictFull(now)
	require.Empty(t, p.full)
	for range 10_000 {
		require.Zero(t, newRateLimiter().take("ann", 0, now))
	}
}

package position_test

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
	"github.com/koan-go/koan/framework/position"
)

func TestTextsOfPositions(t *testing.T) {
	for _, p := range []position.Position{{}, {System: 7714144547497816638, Timeline: 3, Offset: 0x16B3748}, {System: ^uint64(0), Timeline: ^uint32(0), Offset: ^uint64(0)}} {
		back, err := position.Parse(p.String())
		require.NoError(t, err)
		assert.Equal(t, p, back)
	}
	for _, text := range []string{"", "0", "any", "0/16B3748", "6b0e1b2c3d4e5f60.1", "6b0e1b2c3d4e5f60.1.16B3748", "6b0e1b2c3d4e5f60.01.1", "6b0e1b2c3d4e5f60.1.1 ", "6b0e1b2c3d4e5f60.-1.1", "6b0e1b2c3d4e5f60.4294967296.1"} {
		_, err := position.Parse(text)
		assert.Equal(t, fault.InvalidPayload, fault.CodeOf(err), text)
	}
}

func TestAPositionOfALaterTimelineIsLater(t *testing.T) {
	early, late := position.Position{Timeline: 1, Offset: 900}, position.Position{Timeline: 2, Offset: 100}
	assert.True(t, early.Before(late))
	assert.False(t, late.Before(early))
	assert.False(t, early.Before(early))
}

// A call that has written asks no replica that lacks what it wrote; one of which nobody knows how far it
// has come asks none at all.
func TestACallSeesWhatItHasReached(t *testing.T) {
	sent := position.Position{System: 1, Timeline: 1, Offset: 10}
	c := position.NewCall(&sent)
	_, ok := c.Reached()
	assert.False(t, ok)

	c.Reach(position.Position{System: 1, Timeline: 1, Offset: 20})
	c.Reach(position.Position{System: 1, Timeline: 1, Offset: 15}) // of a transaction that ended meanwhile
	p, known := c.Seen()
	assert.True(t, known)
	assert.EqualValues(t, 20, p.Offset)

	c.Lose()
	_, known = c.Seen()
	assert.False(t, known)
	_, ok = c.Reached()
	assert.False(t, ok)
}

func FuzzPositions(f *testing.F) {
	f.Add("6b0e1b2c3d4e5f60.1.16b3748")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := position.Parse(text); err == nil {
			assert.Equal(t, text, p.String())
		}
	})
}

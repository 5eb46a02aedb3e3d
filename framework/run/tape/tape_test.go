package tape_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/tape"
)

// A call that another attempt makes at the same place is another occurrence: what
// is outside must not take it for the first one's repetition.
func TestOccurrence(t *testing.T) {
	made := tape.New(time.Now())
	one, two := [32]byte{1}, [32]byte{2}
	require.Equal(t, 0, made.Occurrence("1", one))
	made.RecordOutside("1", one, nil, nil)
	require.Equal(t, 1, made.Occurrence("1", two))
	require.Equal(t, 0, made.Occurrence("1", one))
	require.Equal(t, 0, made.Occurrence("2", two))
	_, _, ok := made.Outside("1", two)
	require.False(t, ok)
	made.RecordOutside("1", two, []byte("2"), nil)
	_, _, ok = made.Outside("1", one)
	require.True(t, ok, "the first way is not forgotten")
}

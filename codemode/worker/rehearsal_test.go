package worker

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// A rehearsal that stops half-way leaves the rest cold, and nobody sees it.
func TestRehearsalsRunToTheirEnd(t *testing.T) {
	for i, want := range []string{`"dairy":[{`, ``} {
		require.Len(t, rehearsals, 2)
		r, err := rehearsal(rehearsals[i])
		require.NoError(t, err)
		require.Nil(t, r.Fault)
		require.Contains(t, string(r.Result), want)
	}
	r, err := rehearsal(`SDK.Entities.Row.nope()`)
	require.NoError(t, err)
	require.NotNil(t, r.Fault)
}

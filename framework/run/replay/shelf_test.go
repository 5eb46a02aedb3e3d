package replay_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/run/replay"
	"github.com/koan-go/koan/framework/run/tape"
)

// Whatever stands on the shelf: no panic, and no more memory than is allowed.
func FuzzUnpackRun(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add([]byte("\x01\x8a\x8e\x05\x04\x00\x00\xff\xff"))
	f.Fuzz(func(t *testing.T, b []byte) {
		k, err := replay.UnpackRun(b)
		if err != nil {
			require.ErrorIs(t, err, tape.ErrFormat)
			return
		}
		_, err = k.ID()
		require.NoError(t, err)
	})
}

package ledger

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/seal"
)

func TestImagesArePackedAndSealed(t *testing.T) {
	sealer := seal.Random()
	sealing := func(bool) (*seal.Sealer, error) { return sealer, nil }
	for _, size := range []int{1, 100_000} {
		r := &journal.Record{Run: "r", Images: []journal.Image{
			{Entity: "Todo", Set: "default", ID: "1", Action: "update", State: json.RawMessage(`{"before":{"title":"` + strings.Repeat("t", size) + `"}}`), Secret: json.RawMessage(`{"before":{"secret":"hush"}}`)},
			{Set: "default", Action: "update"},
		}}
		packed := packImages(r, sealing)
		require.NotContains(t, string(packed), "hush")
		require.Less(t, len(packed), 2_000)
		back, why, err := unpackImages("r", packed, sealing)
		require.NoError(t, err)
		require.Empty(t, why)
		require.Equal(t, r.Images, back)

		_, why, err = unpackImages("another", packed, sealing)
		require.NoError(t, err)
		require.NotEmpty(t, why, "a seal is bound to its run")
		_, why, err = unpackImages("r", packed, func(bool) (*seal.Sealer, error) { return nil, nil })
		require.NoError(t, err)
		require.NotEmpty(t, why)
		_, why, err = unpackImages("r", packed, func(bool) (*seal.Sealer, error) { return seal.Random(), nil })
		require.NoError(t, err)
		require.NotEmpty(t, why)
	}
	_, why, err := unpackImages("r", packImages(&journal.Record{NoImages: "too large"}, nil), nil)
	require.NoError(t, err)
	require.Equal(t, "too large", why)
	require.Nil(t, packImages(&journal.Record{}, nil))
}

// What is kept is read without a panic, whatever somebody has made of it.
func FuzzUnpackImages(f *testing.F) {
	f.Add([]byte{imagesPlain, '[', ']'})
	f.Add([]byte("\x01[{\"entity\":\"Todo\",\"secret\":\"x\"}]"))
	f.Add(packImages(&journal.Record{Run: "r", Images: []journal.Image{{Entity: strings.Repeat("e", compressFrom), State: json.RawMessage(`{}`)}}}, nil))
	f.Add([]byte{9})
	sealer := seal.Random()
	f.Fuzz(func(t *testing.T, packed []byte) {
		images, why, err := unpackImages("r", packed, func(bool) (*seal.Sealer, error) { return sealer, nil })
		if err != nil || why != "" || len(images) == 0 {
			return
		}
		again, _, err := unpackImages("r", packImages(&journal.Record{Run: "r", Images: images}, func(bool) (*seal.Sealer, error) { return sealer, nil }), func(bool) (*seal.Sealer, error) { return sealer, nil })
		require.NoError(t, err)
		require.Len(t, again, len(images))
	})
}

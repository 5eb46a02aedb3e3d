package ledger

import (
	"encoding/json"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/journal"
	"github.com/koan-go/koan/framework/seal"
)

// imagesOf returns images as a run keeps them.
func imagesOf(t testing.TB, some ...journal.Image) *journal.Images {
	out := &journal.Images{}
	require.NoError(t, out.Add(some...))
	return out
}

// all returns the images of all pages.
func all(t testing.TB, p journal.Pages) (out []journal.Image) {
	require.NoError(t, journal.Each(p, func(i *journal.Image) error { out = append(out, *i); return nil }))
	return out
}

func TestImagesArePackedAndSealed(t *testing.T) {
	sealer := seal.Random()
	sealing := func(bool) (*seal.Sealer, error) { return sealer, nil }
	for _, size := range []int{1, 10_000, 100_000} {
		some := []journal.Image{
			{Entity: "Todo", Set: "default", ID: "1", Action: "update", State: json.RawMessage(`{"before":{"title":"` + strings.Repeat("t", size) + `"}}`), Secret: json.RawMessage(`{"before":{"secret":"hush"}}`)},
			{Set: "default", Action: "update"},
		}
		packed := packImages(&journal.Record{Run: "r", Images: imagesOf(t, some...)}, sealing)
		require.NotContains(t, string(packed), "hush")
		require.Less(t, len(packed), 2_000)
		back, why, err := unpackImages("r", packed, sealing)
		require.NoError(t, err)
		require.Empty(t, why)
		require.Equal(t, some, all(t, back))

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

// Images of a large run are kept on many pages, and come back in their order whatever page they are on.
func TestImagesOfManyPagesComeBackInOrder(t *testing.T) {
	var want []journal.Image
	kept := &journal.Images{}
	for commit := range 3 {
		one := &journal.Images{}
		for i := range 700 {
			image := journal.Image{Entity: "Todo", Set: "s" + strconv.Itoa(commit), ID: strconv.Itoa(i), Action: "create", State: json.RawMessage(`{"after":{"n":"` + strings.Repeat(strconv.Itoa(i), 40) + `"}}`)}
			if i%100 == 0 {
				image.Entity = ""
			}
			want = append(want, image)
			require.NoError(t, one.Add(image))
		}
		require.NoError(t, kept.Append(one))
	}
	require.Equal(t, [3]int{2100, 21, 3}, [3]int{kept.Len(), kept.Unnamed(), kept.Sets()})
	require.Greater(t, kept.Pages(), 3)
	require.Less(t, kept.Size(), 200<<10)
	packed := packImages(&journal.Record{Run: "r", Images: kept}, nil)
	back, why, err := unpackImages("r", packed, nil)
	require.NoError(t, err)
	require.Empty(t, why)
	require.Equal(t, kept.Pages(), back.Pages())
	require.Equal(t, want, all(t, back))
	_, _, err = unpackImages("r", packed[:len(packed)-1], nil)
	require.ErrorContains(t, err, "not whole")
}

// What is kept is read without a panic, whatever somebody has made of it.
func FuzzUnpackImages(f *testing.F) {
	f.Add([]byte{imagesPlain, '[', ']'})
	f.Add([]byte("\x01[{\"entity\":\"Todo\",\"secret\":\"x\"}]"))
	for _, size := range []int{compressFrom, journal.PageBytes} {
		f.Add(packImages(&journal.Record{Run: "r", Images: imagesOf(f, journal.Image{Entity: strings.Repeat("e", size), State: json.RawMessage(`{}`)})}, nil))
	}
	f.Add([]byte{imagesPaged, 0, 0, 0, 9})
	f.Add([]byte{9})
	sealer := seal.Random()
	sealing := func(bool) (*seal.Sealer, error) { return sealer, nil }
	f.Fuzz(func(t *testing.T, packed []byte) {
		images, why, err := unpackImages("r", packed, sealing)
		if err != nil || why != "" || images == nil || images.Pages() == 0 {
			return
		}
		some := all(t, images)
		again, _, err := unpackImages("r", packImages(&journal.Record{Run: "r", Images: imagesOf(t, some...)}, sealing), sealing)
		require.NoError(t, err)
		require.Len(t, all(t, again), len(some))
	})
}

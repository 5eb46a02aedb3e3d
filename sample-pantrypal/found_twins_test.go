package main

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hauled is what the action haul answers.
type hauled struct {
	PhotoID string
	Again   bool
	Summary string
	Lots    []struct {
		Name   string
		Amount float64
	}
	Open  []struct{ Code string }
	Asked []struct{ DetectionID, Code, Name, PhotoID, Question string }
}

func (k kitchen) haul(in map[string]any) (out hauled) {
	k.t.Helper()
	k.Action("haul", in, &out)
	return out
}

// Two photos of one package are one package, until somebody says that they are two.
func TestOnePackageOnTwoPhotos(t *testing.T) {
	t.Parallel()
	k := open(t)
	first := k.haul(map[string]any{"photo": k.photo("table.png", "2000000000039", "2000000000992")})
	require.Len(t, first.Lots, 1)
	second := k.haul(map[string]any{"photo": k.photo("closer.png", "2000000000039", "2000000000992", "2000000000077")})
	require.False(t, second.Again)
	require.Len(t, second.Lots, 1, "only the third package is new: %s", second.Summary)
	require.Empty(t, second.Open, "an unknown code is unknown once")
	require.Len(t, second.Asked, 2)
	require.Equal(t, first.PhotoID, second.Asked[0].PhotoID)
	require.Contains(t, second.Asked[0].Question+second.Asked[1].Question, first.Lots[0].Name)
	require.Equal(t, second.Asked, k.haul(map[string]any{"photo": "closer.png"}).Asked, "until it is answered")

	var learned struct{ Resolved int }
	k.Action("learn-product", map[string]any{"code": "2000000000992", "food": "penne", "packageAmount": 500, "packageUnit": "g"}, &learned)
	require.Equal(t, 1, learned.Resolved)
	said := k.haul(map[string]any{"photoId": second.PhotoID, "another": []string{"2000000000992"}, "same": []string{"2000000000039"}})
	require.Len(t, said.Lots, 1)
	require.Equal(t, 500.0, said.Lots[0].Amount)
	require.Empty(t, said.Asked)
	again := k.haul(map[string]any{"photoId": second.PhotoID, "another": []string{"2000000000992", "2000000000039"}})
	require.Empty(t, again.Lots, "it has been answered")
}

// Of more packages than the photo before shows, those above are new; and what is said at once is not asked.
func TestMorePackagesThanOnThePhotoBefore(t *testing.T) {
	t.Parallel()
	k := open(t)
	one := k.haul(map[string]any{"photo": k.photo("one.png", "2000000000039")}).Lots[0].Amount
	three := k.haul(map[string]any{"photo": k.photo("three.png", "2000000000039", "2000000000039", "2000000000039")})
	require.Equal(t, 2*one, three.Lots[0].Amount)
	require.Len(t, three.Asked, 1)
	told := k.haul(map[string]any{"photo": k.photo("other.png", "2000000000039", "2000000000077"), "another": []string{"2000000000039"}})
	require.Len(t, told.Lots, 2)
	require.Empty(t, told.Asked)
}

// The next day's package is another one; the same picture is the same, whenever and however it is sent.
func TestThePictureOfYesterday(t *testing.T) {
	t.Parallel()
	var later atomic.Int64
	k := openAt(t, func() time.Time { return monday().Add(time.Duration(later.Load())) })
	k.haul(map[string]any{"photo": k.sample("haul.png")})
	later.Store(int64(26 * time.Hour))
	require.NotEmpty(t, k.haul(map[string]any{"photo": k.photo("next.png", "2000000000039")}).Lots)
	raw, err := os.ReadFile("testdata/haul.png")
	require.NoError(t, err)
	picture, err := png.Decode(bytes.NewReader(raw))
	require.NoError(t, err)
	var sent bytes.Buffer
	require.NoError(t, jpeg.Encode(&sent, half(picture), &jpeg.Options{Quality: 80}))
	require.NoError(t, os.WriteFile(filepath.Join(k.photos, "sent.jpg"), sent.Bytes(), 0o600))
	out := k.haul(map[string]any{"photo": "sent.jpg"})
	require.Empty(t, out.Lots, out.Summary)
	require.Len(t, out.Asked, 6)
}

// half is a picture as a messenger sends it: smaller.
func half(img image.Image) image.Image {
	b := img.Bounds()
	out := image.NewGray(image.Rect(0, 0, b.Dx()*3/4, b.Dy()*3/4))
	for y := range out.Rect.Dy() {
		for x := range out.Rect.Dx() {
			out.Set(x, y, img.At(x*4/3, y*4/3))
		}
	}
	return out
}

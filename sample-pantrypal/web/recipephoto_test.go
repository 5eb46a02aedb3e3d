package web

import (
	"bytes"
	"image"
	"image/color"
	"image/jpeg"
	"image/png"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/koan-go/koan/framework/fault"
)

// lying is a JPEG file whose pixels are stored as EXIF numbers it.
func lying(t *testing.T, img image.Image, orientation byte) []byte {
	t.Helper()
	var out bytes.Buffer
	require.NoError(t, jpeg.Encode(&out, img, nil))
	exif := append([]byte("\xff\xe1\x00\x22Exif\x00\x00MM\x00\x2a\x00\x00\x00\x08\x00\x01\x01\x12\x00\x03\x00\x00\x00\x01\x00"), orientation, 0, 0, 0, 0, 0, 0)
	return append(append(append([]byte{}, out.Bytes()[:2]...), exif...), out.Bytes()[2:]...)
}

// A photo is kept upright and small, without what the camera noted beside it.
func TestPhotosOfRecipesAreUprightAndSmall(t *testing.T) {
	img := image.NewRGBA(image.Rect(0, 0, 2000, 1000)) // its top left is red, the rest is blue
	for y := range 1000 {
		for x := range 2000 {
			c := color.RGBA{B: 255, A: 255}
			if x < 1000 && y < 500 {
				c = color.RGBA{R: 255, A: 255}
			}
			img.SetRGBA(x, y, c)
		}
	}
	for orientation, want := range map[byte]struct{ width, height, redX, redY int }{
		1: {1000, 500, 100, 100}, 2: {1000, 500, 900, 100}, 3: {1000, 500, 900, 400}, 4: {1000, 500, 100, 400},
		5: {500, 1000, 100, 100}, 6: {500, 1000, 400, 100}, 7: {500, 1000, 400, 900}, 8: {500, 1000, 100, 900},
	} {
		small, err := smaller(day{}, lying(t, img, orientation))
		require.NoError(t, err)
		require.NotContains(t, string(small), "Exif")
		got, err := jpeg.Decode(bytes.NewReader(small))
		require.NoError(t, err)
		require.Equal(t, image.Pt(want.width, want.height), got.Bounds().Size(), orientation)
		r, _, b, _ := got.At(want.redX, want.redY).RGBA()
		require.Greater(t, r, b, "%d: the red corner", orientation)
		r, _, b, _ = got.At(want.width-want.redX, want.height-want.redY).RGBA()
		require.Less(t, r, b, "%d: the other one", orientation)
	}
	var tiny bytes.Buffer
	require.NoError(t, png.Encode(&tiny, image.NewRGBA(image.Rect(0, 0, 3, 1))))
	small, err := smaller(day{}, tiny.Bytes())
	require.NoError(t, err)
	got, err := jpeg.Decode(bytes.NewReader(small))
	require.NoError(t, err)
	require.Equal(t, image.Pt(3, 1), got.Bounds().Size(), "nothing is made larger")
	r, _, _, _ := got.At(1, 0).RGBA()
	require.Greater(t, r, uint32(0xf000), "what is transparent is white")

	for name, file := range map[string][]byte{"a text": []byte("dinner"), "half a photo": lying(t, img, 1)[:4000], "nothing": {}} {
		_, err := smaller(day{}, file)
		require.Equal(t, fault.InvalidPayload, fault.CodeOf(err), name)
	}
}

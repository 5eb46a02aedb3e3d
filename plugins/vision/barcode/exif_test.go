package barcode

import (
	"bytes"
	"encoding/binary"
	"hash/crc32"
	"image"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// tiff is EXIF data that notes an orientation.
func tiff(order binary.AppendByteOrder, orientation uint16) []byte {
	b := []byte("II*\x00")
	if order == binary.AppendByteOrder(binary.BigEndian) {
		b = []byte("MM\x00*")
	}
	b = order.AppendUint32(b, 8)
	b = order.AppendUint16(b, 2)
	for _, entry := range [][2]uint16{{0x0100, 17}, {0x0112, orientation}} {
		b = order.AppendUint16(b, entry[0])
		b = order.AppendUint16(b, 3)
		b = order.AppendUint32(b, 1)
		b = order.AppendUint16(b, entry[1])
		b = append(b, 0, 0)
	}
	return order.AppendUint32(b, 0)
}

func exifJPEG(t testing.TB, img image.Image, orientation uint16) []byte {
	file := jpegOf(t, img, 90)
	data := append([]byte("Exif\x00\x00"), tiff(binary.LittleEndian, orientation)...)
	segment := append(binary.BigEndian.AppendUint16([]byte{0xff, 0xe1}, uint16(len(data)+2)), data...)
	return append(append(file[:2:2], segment...), file[2:]...)
}

func exifPNG(t testing.TB, img image.Image, orientation uint16) []byte {
	file := pngOf(t, img)
	chunk := append([]byte("eXIf"), tiff(binary.BigEndian, orientation)...)
	whole := append(binary.BigEndian.AppendUint32(nil, uint32(len(chunk)-4)), chunk...)
	whole = binary.BigEndian.AppendUint32(whole, crc32.ChecksumIEEE(chunk))
	return append(append(file[:33:33], whole...), file[33:]...) // after IHDR
}

// A picture of 16 x 8 pixels whose upper left corner as stored is dark is shown
// with that corner where the orientation puts it.
func TestOrientation(t *testing.T) {
	img := image.NewGray(image.Rect(0, 0, 16, 8))
	for i := range img.Pix {
		if x, y := i%16, i/16; x >= 4 || y >= 4 {
			img.Pix[i] = 255
		}
	}
	for orientation, want := range map[uint16][3]int{ // width, column and row of the dark corner
		0: {16, 0, 0}, 1: {16, 0, 0}, 2: {16, 15, 0}, 3: {16, 15, 7}, 4: {16, 0, 7},
		5: {8, 0, 0}, 6: {8, 7, 0}, 7: {8, 7, 15}, 8: {8, 0, 15}, 9: {16, 0, 0},
	} {
		for name, file := range map[string][]byte{"jpeg": exifJPEG(t, img, orientation), "png": exifPNG(t, img, orientation)} {
			g, err := Decode(file)
			require.NoError(t, err)
			require.Equal(t, want[0], g.Width, "%s %d", name, orientation)
			require.Equal(t, 128/want[0], g.Height)
			dark := 0
			for i, p := range g.Pix {
				if p < 128 {
					dark++
					x, y := i%g.Width, i/g.Width
					require.True(t, x-want[1] < 4 && want[1]-x < 4 && y-want[2] < 4 && want[2]-y < 4, "%s %d: %d, %d is dark", name, orientation, x, y)
				}
			}
			require.Equal(t, 16, dark)
		}
	}
}

func TestOrientationBadData(t *testing.T) {
	good := tiff(binary.LittleEndian, 6)
	require.Equal(t, 6, tiffOrientation(good))
	for cut := range len(good) - 12 {
		require.Equal(t, 1, tiffOrientation(good[:cut]), "cut at %d", cut)
	}
	far := bytes.Clone(good)
	binary.LittleEndian.PutUint32(far[4:], 1<<32-1)
	require.Equal(t, 1, tiffOrientation(far))
}

func TestWebP(t *testing.T) {
	for name, want := range map[string]int{"testdata/lossy.webp": 300, "testdata/lossless.webp": 300, "testdata/turned.webp": 110} {
		file, err := os.ReadFile(name)
		require.NoError(t, err)
		g, err := Decode(file)
		require.NoError(t, err, name)
		require.Equal(t, want, g.Width, name)
		require.Equal(t, []string{"ean13 4006381333931"}, values(detect(t, g)), name)
		_, err = Decode(file[:len(file)/2])
		require.Error(t, err)
	}
}

// FuzzOrientation: no bytes make the reader of EXIF data panic, or return what is
// no orientation.
func FuzzOrientation(f *testing.F) {
	small := image.NewGray(image.Rect(0, 0, 4, 4))
	f.Add(exifJPEG(f, small, 6))
	f.Add(exifPNG(f, small, 3))
	f.Add(append([]byte("RIFF\x00\x00\x00\x00WEBPEXIF\x26\x00\x00\x00"), tiff(binary.BigEndian, 8)...))
	f.Fuzz(func(t *testing.T, file []byte) {
		o := Orientation(file)
		require.True(t, o >= 1 && o <= 8)
		progressive(file)
		unsupported(file)
	})
}

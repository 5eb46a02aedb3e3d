package barcode

import (
	"context"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image"
	"image/color"
	"math"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func detect(t *testing.T, g *Gray) []Detection {
	t.Helper()
	found, err := Detect(context.Background(), g)
	require.NoError(t, err)
	return found
}

// values returns "format value" of what was found, in order.
func values(found []Detection) []string {
	out := []string{}
	for _, d := range found {
		out = append(out, fmt.Sprint(d.Format, " ", d.Value))
	}
	return out
}

func TestAnglesAndSizes(t *testing.T) {
	for _, angle := range []float64{0, 7, 21, 33, 45, 90, 118, 180, 333} {
		for _, module := range []float64{1.5, 2.4, 9} {
			if module > 5 && angle > 7 {
				continue // minutes, and nothing new
			}
			t.Run(fmt.Sprintf("%g degrees, %g pixels", angle, module), func(t *testing.T) {
				size := int(module*150) + 20
				middle := float64(size) / 2
				g := draw(t, sheet{width: size, height: size, noise: 6, prints: []print{
					{format: EAN13, text: "4006381333931", module: module, angle: angle, x: middle, y: middle},
				}})
				found := detect(t, g)
				require.Equal(t, []string{"ean13 4006381333931"}, values(found))
				require.GreaterOrEqual(t, found[0].Confidence, 0.8)

				// The box holds most of the bars, and not much else.
				sin, cos := math.Sincos(angle * math.Pi / 180)
				width := math.Abs(cos)*95*module + math.Abs(sin)*40*module
				height := math.Abs(sin)*95*module + math.Abs(cos)*40*module
				b := found[0].Box
				require.InDelta(t, middle, float64(b.X)+float64(b.Width)/2, 6*module)
				require.InDelta(t, middle, float64(b.Y)+float64(b.Height)/2, 6*module)
				require.InDelta(t, width, b.Width, 14*module)
				require.InDelta(t, height, b.Height, 14*module)
			})
		}
	}
}

func TestFormats(t *testing.T) {
	tests := []struct {
		name   string
		format Format
		text   string
		want   string
	}{
		{"in-store ean13", EAN13, "2000000000039", "ean13 2000000000039"},
		{"upca has 13 digits", UPCA, "012345678905", "upca 0012345678905"},
		{"ean8", EAN8, "73513537", "ean8 73513537"},
		{"ean8 in store", EAN8, "20000011", "ean8 20000011"},
		{"upce", UPCE, "01234565", "upce 0012345000065"},
		{"upce of a maker that ends in 100", UPCE, "04252614", "upce 0042100005264"},
		{"itf", ITF, "15400141288763", "itf 15400141288763"},
		{"code128", Code128, "Koan-4711/b", "code128 Koan-4711/b"},
		{"code128 of digits", Code128, "0123456789", "code128 0123456789"},
		{"gs1-128", Code128, "\u00f1010950600013435210A", "code128 9506000134352"},
		{"qr", QR, "https://koan.dev/räksmörgås", "qr https://koan.dev/räksmörgås"},
		{"digital link", QR, "https://id.gs1.org/01/09506000134352/10/A1?17=271231", "qr 9506000134352"},
	}
	for _, tt := range tests {
		for _, angle := range []float64{0, 14, 90, 181} {
			t.Run(fmt.Sprintf("%s at %g", tt.name, angle), func(t *testing.T) {
				s := sheet{width: 560, height: 560, noise: 5, dark: 30, light: 225, prints: []print{
					{format: tt.format, text: tt.text, module: 3, angle: angle, x: 280, y: 280},
				}}
				found := detect(t, draw(t, s))
				require.Equal(t, []string{tt.want}, values(found))
				if strings.HasSuffix(tt.want, tt.text) || tt.format == UPCA {
					require.Empty(t, found[0].Text)
				} else {
					require.Equal(t, strings.ReplaceAll(tt.text, "\u00f1", groupSeparator), found[0].Text)
				}
				s.dark, s.light = s.light, s.dark
				require.Equal(t, []string{tt.want}, values(detect(t, draw(t, s))), "light on dark")
			})
		}
	}
}

func TestManyCodesInOneImage(t *testing.T) {
	s := sheet{width: 1500, height: 1000, noise: 9, prints: []print{
		{format: EAN13, text: "2000000000121", module: 2.4, angle: 0, x: 260, y: 200},
		{format: EAN8, text: "73513537", module: 3, angle: -18, x: 750, y: 240},
		{format: UPCA, text: "012345678905", module: 2.2, angle: 21, x: 1230, y: 260},
		{format: EAN13, text: "2000000000121", module: 2.4, angle: 5, x: 260, y: 700}, // twice in the house
		{format: QR, text: "koan", module: 5, angle: 10, x: 760, y: 700},
		{format: EAN13, text: "4006381333931", module: 2, angle: 80, x: 1200, y: 720},
	}}
	g := draw(t, s)
	found := detect(t, g)
	require.ElementsMatch(t, []string{
		"ean13 2000000000121", "ean8 73513537", "upca 0012345678905", "ean13 2000000000121", "qr koan", "ean13 4006381333931",
	}, values(found))
	for i := 1; i < len(found); i++ {
		require.LessOrEqual(t, found[i-1].Box.Y, found[i].Box.Y)
	}
	for range 3 {
		require.Equal(t, found, detect(t, g), "the same picture gives the same result")
	}
}

func TestLowQualityImages(t *testing.T) {
	one := []print{{format: EAN13, text: "2000000000121", module: 3, angle: 9, x: 250, y: 150}}
	tests := []struct {
		name string
		s    sheet
	}{
		{"noisy", sheet{noise: 25}},
		{"pale", sheet{dark: 140, light: 190, noise: 4}},
		{"dark", sheet{dark: 8, light: 60, noise: 3}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.s.width, tt.s.height, tt.s.prints = 500, 300, one
			require.Equal(t, []string{"ean13 2000000000121"}, values(detect(t, draw(t, tt.s))))
		})
	}
	t.Run("jpeg", func(t *testing.T) {
		g := draw(t, sheet{width: 500, height: 300, noise: 4, prints: one})
		read, err := Decode(jpegOf(t, g.image(), 40))
		require.NoError(t, err)
		require.Equal(t, []string{"ean13 2000000000121"}, values(detect(t, read)))
	})
	t.Run("in color", func(t *testing.T) {
		g := draw(t, sheet{width: 500, height: 300, noise: 4, prints: one})
		img := image.NewNRGBA(image.Rect(0, 0, 500, 300))
		for i, p := range g.Pix {
			img.Set(i%500, i/500, color.NRGBA{p, min(p, 200), p / 2, 255})
		}
		read, err := Decode(pngOf(t, img))
		require.NoError(t, err)
		require.Equal(t, []string{"ean13 2000000000121"}, values(detect(t, read)))
	})
}

func TestNothingToFind(t *testing.T) {
	tests := []struct {
		name string
		g    *Gray
	}{
		{"one pixel", &Gray{Width: 1, Height: 1, Pix: []byte{255}}},
		{"one row", &Gray{Width: 500, Height: 1, Pix: make([]byte, 500)}},
		{"black", &Gray{Width: 300, Height: 300, Pix: make([]byte, 90000)}},
		{"noise", draw(t, sheet{width: 700, height: 700, noise: 90, dark: 1, light: 128})},
	}
	finders := &Gray{Width: 1400, Height: 1400, Pix: make([]byte, 1400*1400)}
	for i := range finders.Pix { // thousands of finder patterns
		x, y := i%1400/3%9-4, i/1400/3%9-4
		if ring := max(x, -x, y, -y); ring == 2 || ring == 4 {
			finders.Pix[i] = 255
		}
	}
	tests = append(tests, struct {
		name string
		g    *Gray
	}{"thousands of finder patterns", finders})
	stripes := &Gray{Width: 900, Height: 600, Pix: make([]byte, 900*600)}
	for i := range stripes.Pix {
		stripes.Pix[i] = byte(255 * (i % 900 / 3 % 2))
	}
	tests = append(tests, struct {
		name string
		g    *Gray
	}{"stripes", stripes})
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) { require.Empty(t, detect(t, tt.g)) })
	}
}

// A code that is cut off must not be read as a shorter one.
func TestTruncatedCodes(t *testing.T) {
	whole := draw(t, sheet{width: 420, height: 200, noise: 3, prints: []print{{format: EAN13, text: "2000000000121", module: 3, x: 210, y: 100}}})
	for _, cut := range []int{80, 120, 160, 200, 240} {
		t.Run(fmt.Sprint("from ", cut), func(t *testing.T) {
			part := &Gray{Width: whole.Width - cut, Height: whole.Height}
			for y := range whole.Height {
				part.Pix = append(part.Pix, whole.Pix[y*whole.Width+cut:(y+1)*whole.Width]...)
			}
			require.Empty(t, detect(t, part))
		})
	}
}

func TestConfirm(t *testing.T) {
	at := func(f Format, value string, y float64) read {
		return read{format: f, value: value, from: point{100, y}, to: point{300, y}}
	}
	times := func(n int, f Format, value string, y float64) (out []read) {
		for i := range n {
			out = append(out, at(f, value, y+3*float64(i)))
		}
		return out
	}
	join := func(groups ...[]read) (out []read) {
		for _, g := range groups {
			out = append(out, g...)
		}
		return out
	}
	tests := []struct {
		name  string
		reads []read
		want  []string
		share float64
	}{
		{"too few", times(2, EAN13, "a", 0), nil, 0},
		{"enough", times(3, EAN13, "a", 0), []string{"ean13 a"}, 1},
		{"short one inside a long one", join(times(4, EAN13, "a", 0), times(4, EAN8, "b", 0)), []string{"ean13 a"}, 0.5},
		{"a stray read costs confidence", join(times(9, EAN13, "a", 0), times(1, EAN13, "b", 6)), []string{"ean13 a"}, 0.9},
		{"no majority", join(times(3, EAN13, "a", 0), times(2, EAN13, "b", 1), times(2, EAN13, "c", 2)), nil, 0},
		{"two places", join(times(3, EAN13, "a", 0), times(3, EAN13, "a", 400)), []string{"ean13 a", "ean13 a"}, 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			found := confirm(tt.reads)
			require.ElementsMatch(t, tt.want, values(found))
			if len(found) > 0 {
				require.InDelta(t, tt.share, found[0].Confidence, 0.001)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := Detect(ctx, &Gray{Width: 200, Height: 200, Pix: make([]byte, 40000)})
	require.ErrorIs(t, err, context.Canceled)
}

// bomb returns the header of a PNG that claims a size.
func bomb(width, height uint32) []byte {
	head := append([]byte("IHDR"), make([]byte, 8)...)
	binary.BigEndian.PutUint32(head[4:], width)
	binary.BigEndian.PutUint32(head[8:], height)
	head = append(head, 8, 0, 0, 0, 0)
	file := append([]byte("\x89PNG\r\n\x1a\n"), 0, 0, 0, 13)
	file = append(file, head...)
	return binary.BigEndian.AppendUint32(file, crc32.ChecksumIEEE(head))
}

func TestDecodeRefuses(t *testing.T) {
	good := pngOf(t, image.NewGray(image.Rect(0, 0, 40, 40)))
	tests := []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "not a PNG, JPEG or WebP picture"},
		{"text", []byte("hello"), "not a PNG, JPEG or WebP picture"},
		{"gif", []byte("GIF89a\x01\x00\x01\x00\x00\x00\x00"), "GIF"},
		{"heic", []byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"), "HEIC"},
		{"avif", []byte("\x00\x00\x00\x18ftypavif\x00\x00\x00\x00mif1avif"), "AVIF"},
		{"only a signature", good[:8], "header"},
		{"cut off", good[:len(good)-20], "damaged"},
		{"bomb", bomb(60000, 60000), "too large"},
		{"wide bomb", bomb(1<<31-1, 1), "too large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode(tt.file)
			require.ErrorContains(t, err, tt.want)
		})
	}
	_, err := Decode(bomb(60000, 60000))
	require.ErrorIs(t, err, ErrTooLarge)
	interlaced := bomb(6000, 6000)
	interlaced[28] = 1
	_, err = Decode(interlaced)
	require.ErrorContains(t, err, "checksum", "the checksum is of another header")
	binary.BigEndian.PutUint32(interlaced[29:], crc32.ChecksumIEEE(interlaced[12:29]))
	_, err = Decode(interlaced)
	require.ErrorIs(t, err, ErrTooLarge, "unpacked twice")
	_, err = Decode([]byte("\x00\x00\x00\x18ftypheic\x00\x00\x00\x00mif1heic"))
	require.ErrorIs(t, err, ErrFormat)
}

// FuzzDecode: no bytes make the decoder or the detector panic.
func FuzzDecode(f *testing.F) {
	f.Add([]byte(nil))
	f.Add(bomb(100, 100))
	small := image.NewGray(image.Rect(0, 0, 24, 16))
	f.Add(pngOf(f, small))
	f.Add(jpegOf(f, small, 50))
	f.Add(exifJPEG(f, small, 6))
	for _, name := range []string{"testdata/lossy.webp", "testdata/lossless.webp"} {
		file, err := os.ReadFile(name)
		require.NoError(f, err)
		f.Add(file)
	}
	f.Fuzz(func(t *testing.T, file []byte) {
		g, err := Decode(file)
		if err != nil || g.Width*g.Height > 1<<18 {
			return
		}
		_, err = Detect(context.Background(), g)
		require.NoError(t, err)
	})
}

// FuzzDetect: no pixels do either.
func FuzzDetect(f *testing.F) {
	f.Add(uint8(90), []byte{0, 255, 128, 3})
	f.Add(uint8(200), []byte("a longer row of brightnesses"))
	f.Fuzz(func(t *testing.T, width uint8, pattern []byte) {
		if width == 0 || len(pattern) == 0 {
			return
		}
		g := &Gray{Width: int(width), Height: 120, Pix: make([]byte, int(width)*120)}
		for i := range g.Pix {
			g.Pix[i] = pattern[(i%len(pattern)+i/int(width)/9)%len(pattern)]
		}
		found, err := Detect(context.Background(), g)
		require.NoError(t, err)
		for _, d := range found {
			require.True(t, d.Box.X >= 0 && d.Box.Y >= 0 && d.Box.X+d.Box.Width <= g.Width && d.Box.Y+d.Box.Height <= g.Height, "%+v", d)
		}
	})
}

func BenchmarkDetect(b *testing.B) {
	t := new(testing.T)
	g := draw(t, sheet{width: 1600, height: 1200, noise: 6, prints: []print{
		{format: EAN13, text: "2000000000121", module: 2.6, angle: 9, x: 400, y: 300},
		{format: EAN13, text: "4006381333931", module: 3, angle: -12, x: 1100, y: 800},
	}})
	for b.Loop() {
		if _, err := Detect(context.Background(), g); err != nil {
			b.Fatal(err)
		}
	}
}

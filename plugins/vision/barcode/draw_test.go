package barcode

import (
	"bytes"
	"image"
	"image/jpeg"
	"image/png"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/oned"
	"github.com/makiuchi-d/gozxing/qrcode"
	"github.com/stretchr/testify/require"
)

// print is a code drawn somewhere on a sheet.
type print struct {
	format Format
	text   string
	module float64 // pixels
	angle  float64 // degrees
	x, y   float64 // middle
	tall   float64 // height of the bars in modules, 0 is 40
}

// sheet is a drawn picture.
type sheet struct {
	width, height int
	noise         float64 // standard deviation, of 255
	dark, light   float64 // brightness of bars and paper
	prints        []print
}

func matrixOf(t *testing.T, p print) *gozxing.BitMatrix {
	t.Helper()
	var m *gozxing.BitMatrix
	var err error
	switch p.format {
	case EAN13:
		m, err = oned.NewEAN13Writer().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_EAN_13, 0, 1)
	case UPCA:
		m, err = oned.NewUPCAWriter().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_UPC_A, 0, 1)
	case EAN8:
		m, err = oned.NewEAN8Writer().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_EAN_8, 0, 1)
	case UPCE:
		m, err = oned.NewUPCEWriter().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_UPC_E, 0, 1)
	case Code128:
		m, err = oned.NewCode128Writer().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_CODE_128, 0, 1)
	case ITF:
		m, err = oned.NewITFWriter().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_ITF, 0, 1)
	case QR:
		m, err = qrcode.NewQRCodeWriter().EncodeWithoutHint(p.text, gozxing.BarcodeFormat_QR_CODE, 0, 0)
	}
	require.NoError(t, err)
	return m
}

// draw returns the sheet's brightness, the same for the same sheet.
func draw(t *testing.T, s sheet) *Gray {
	t.Helper()
	if s.light == 0 {
		s.dark, s.light = 30, 225
	}
	type placed struct {
		print
		m        *gozxing.BitMatrix
		sin, cos float64
	}
	var all []placed
	for _, p := range s.prints {
		if p.tall == 0 {
			p.tall = 40
		}
		sin, cos := math.Sincos(p.angle * math.Pi / 180)
		all = append(all, placed{p, matrixOf(t, p), sin, cos})
	}
	at := func(x, y float64) float64 {
		for _, p := range all {
			dx, dy := x-p.x, y-p.y
			u, v := (dx*p.cos+dy*p.sin)/p.module+float64(p.m.GetWidth())/2, (dy*p.cos-dx*p.sin)/p.module
			if u < 0 || u >= float64(p.m.GetWidth()) {
				continue
			}
			row := 0
			if p.format == QR {
				v += float64(p.m.GetHeight()) / 2
				if v < 0 || v >= float64(p.m.GetHeight()) {
					continue
				}
				row = int(v)
			} else if math.Abs(v) > p.tall/2 {
				continue
			}
			if p.m.Get(int(u), row) {
				return s.dark
			}
		}
		return s.light
	}
	random := rand.New(rand.NewPCG(7, 7))
	g := &Gray{Width: s.width, Height: s.height, Pix: make([]byte, s.width*s.height)}
	const n = 3
	for y := range s.height {
		for x := range s.width {
			sum := 0.0
			for i := range n * n {
				sum += at(float64(x)+(float64(i%n)+0.5)/n, float64(y)+(float64(i/n)+0.5)/n)
			}
			g.Pix[y*s.width+x] = byte(min(max(sum/(n*n)+random.NormFloat64()*s.noise, 0), 255))
		}
	}
	return g
}

func (g *Gray) image() *image.Gray {
	return &image.Gray{Pix: g.Pix, Stride: g.Width, Rect: image.Rect(0, 0, g.Width, g.Height)}
}

func pngOf(t testing.TB, img image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, png.Encode(&b, img))
	return b.Bytes()
}

func jpegOf(t testing.TB, img image.Image, quality int) []byte {
	t.Helper()
	var b bytes.Buffer
	require.NoError(t, jpeg.Encode(&b, img, &jpeg.Options{Quality: quality}))
	return b.Bytes()
}

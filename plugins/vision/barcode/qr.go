package barcode

import (
	"context"
	"fmt"
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/common"
	"github.com/makiuchi-d/gozxing/multi/qrcode/detector"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
)

// readQR finds QR codes. Their error correction confirms a single read; what is
// found in several sizes of the picture counts once.
func readQR(ctx context.Context, levels []level) ([]Detection, error) {
	var out []Detection
	for _, l := range levels {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		for _, d := range qrOf(l) {
			at := -1
			for i, known := range out {
				if near(known.Box, d.Box) {
					at = i
				}
			}
			switch {
			case at < 0:
				out = append(out, d)
			case out[at].Value == d.Value:
				out[at].Reads++
			}
		}
	}
	return out, nil
}

// near tells whether the middle of one box lies in the other.
func near(a, b Box) bool {
	x, y := 2*b.X+b.Width, 2*b.Y+b.Height
	return x >= 2*a.X && x <= 2*(a.X+a.Width) && y >= 2*a.Y && y <= 2*(a.Y+a.Height)
}

// qrOf reads the QR codes of one level.
func qrOf(l level) []Detection {
	source, err := gozxing.NewPlanarYUVLuminanceSource(l.Pix, l.Width, l.Height, 0, 0, l.Width, l.Height, false)
	if err != nil {
		panic(fmt.Sprintf("barcode: a picture of %d x %d pixels has %d bytes", l.Width, l.Height, len(l.Pix)))
	}
	matrix, err := gozxing.NewHybridBinarizer(source).GetBlackMatrix()
	if err != nil {
		return nil // nothing but one shade
	}
	hints := map[gozxing.DecodeHintType]any{gozxing.DecodeHintType_TRY_HARDER: true}
	results, err := detector.NewMultiDetector(matrix).DetectMulti(hints)
	if err != nil {
		return nil // no finder patterns
	}
	var out []Detection
	for _, r := range results {
		decoded, err := decoder.NewDecoder().Decode(r.GetBits(), nil)
		if err != nil || decoded.GetText() == "" {
			continue
		}
		out = append(out, Detection{Format: QR, Value: decoded.GetText(), Confidence: 1, Box: qrBox(r, float64(l.scale)), Reads: 1})
	}
	return out
}

// qrBox gives the box of a symbol. The library gives the centers of three finder
// patterns, which lie three and a half modules inside the corners.
func qrBox(r *common.DetectorResult, scale float64) Box {
	p := r.GetPoints()
	corner := func(i int) point { return point{p[i].GetX() * scale, p[i].GetY() * scale} }
	bottomLeft, topLeft, topRight := corner(0), corner(1), corner(2)
	between := float64(r.GetBits().GetWidth() - 7) // modules from center to center
	right := point{(topRight.x - topLeft.x) / between, (topRight.y - topLeft.y) / between}
	down := point{(bottomLeft.x - topLeft.x) / between, (bottomLeft.y - topLeft.y) / between}
	var corners []point
	for _, at := range [][2]float64{{-3.5, -3.5}, {-3.5, between + 3.5}, {between + 3.5, -3.5}, {between + 3.5, between + 3.5}} {
		corners = append(corners, point{topLeft.x + at[0]*right.x + at[1]*down.x, topLeft.y + at[0]*right.y + at[1]*down.y})
	}
	for i := range corners {
		corners[i].x, corners[i].y = math.Round(corners[i].x), math.Round(corners[i].y)
	}
	return bounds(corners)
}

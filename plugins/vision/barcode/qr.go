package barcode

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/common"
	"github.com/makiuchi-d/gozxing/qrcode/decoder"
	"github.com/makiuchi-d/gozxing/qrcode/detector"
)

// readQR finds QR codes. Their error correction confirms a single read; what is
// found in several sizes of the picture counts once.
func readQR(ctx context.Context, levels []level) ([]Detection, error) {
	var out []Detection
	for _, l := range levels {
		codes, err := qrOf(ctx, l)
		if err != nil {
			return nil, err
		}
		for _, d := range codes {
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

// near reports whether the middle of one box lies in the other.
func near(a, b Box) bool {
	x, y := 2*b.X+b.Width, 2*b.Y+b.Height
	return x >= 2*a.X && x <= 2*(a.X+a.Width) && y >= 2*a.Y && y <= 2*(a.Y+a.Height)
}

// qrOf reads the QR codes of one level.
func qrOf(ctx context.Context, l level) ([]Detection, error) {
	source, err := gozxing.NewPlanarYUVLuminanceSource(l.Pix, l.Width, l.Height, 0, 0, l.Width, l.Height, false)
	if err != nil {
		panic(fmt.Sprintf("barcode: a picture of %d x %d pixels has %d bytes", l.Width, l.Height, len(l.Pix)))
	}
	matrix, err := gozxing.NewHybridBinarizer(source).GetBlackMatrix()
	if err != nil {
		return nil, nil // nothing but one shade
	}
	find := detector.NewDetector(matrix)
	var out []Detection
	tried := 0
	for _, t := range triangles(finders(matrix)) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if slices.ContainsFunc(out, func(d Detection) bool { return t.inside(d.Box, l.scale) }) {
			continue
		}
		if tried++; tried > maxTriangles {
			break
		}
		r, err := find.ProcessFinderPatternInfo(t.info)
		if err != nil {
			continue
		}
		decoded, err := decoder.NewDecoder().Decode(r.GetBits(), nil)
		if err != nil || decoded.GetText() == "" {
			continue
		}
		out = append(out, Detection{Format: QR, Value: decoded.GetText(), Confidence: 1, Box: qrBox(r, float64(l.scale)), Reads: 1})
	}
	return out, nil
}

// The library's own search for several codes tries all triples of everything
// that looks like a finder pattern: a picture full of them keeps it busy for
// hours. These bounds hold it, far above what a picture of real codes has.
const (
	maxFinders   = 1000 // patterns looked at on the way
	bestFinders  = 60   // of them, those met most often
	maxTriangles = 200  // of them, those most like a corner of a square
)

// finders returns what looks like finder patterns: 1:1:3:1:1 in both directions.
func finders(matrix *gozxing.BitMatrix) []*detector.FinderPattern {
	f := detector.NewFinderPatternFinder(matrix, nil)
	counts := make([]int, 5)
	for y := 2; y < matrix.GetHeight() && len(f.GetPossibleCenters()) < maxFinders; y += 3 {
		clear(counts)
		state := 0
		for x := range matrix.GetWidth() {
			dark := matrix.Get(x, y)
			if dark == (state%2 == 0) {
				counts[state]++
				continue
			}
			if state < 4 {
				state++
				counts[state]++
				continue
			}
			if detector.FinderPatternFinder_foundPatternCross(counts) && f.HandlePossibleCenter(counts, y, x) {
				clear(counts)
				state = 0
				continue
			}
			copy(counts, counts[2:])
			counts[3], counts[4] = 1, 0
			state = 3
		}
		if detector.FinderPatternFinder_foundPatternCross(counts) {
			f.HandlePossibleCenter(counts, y, matrix.GetWidth())
		}
	}
	found := slices.DeleteFunc(f.GetPossibleCenters(), func(p *detector.FinderPattern) bool { return p.GetCount() < 2 })
	slices.SortStableFunc(found, func(a, b *detector.FinderPattern) int { return cmp.Compare(b.GetCount(), a.GetCount()) })
	return found[:min(len(found), bestFinders)]
}

// triangle is three finder patterns that may belong to one code.
type triangle struct {
	info *detector.FinderPatternInfo
	flaw float64 // how far it is from a corner of a square; 0 is none
}

// inside reports whether the triangle lies in a box of the picture.
func (t triangle) inside(b Box, scale int) bool {
	for _, p := range []*detector.FinderPattern{t.info.GetTopLeft(), t.info.GetTopRight(), t.info.GetBottomLeft()} {
		x, y := int(p.GetX())*scale, int(p.GetY())*scale
		if x >= b.X && x <= b.X+b.Width && y >= b.Y && y <= b.Y+b.Height {
			return true // a pattern belongs to one code only
		}
	}
	return false
}

// triangles returns the triples that can be codes, the best first.
func triangles(f []*detector.FinderPattern) []triangle {
	var out []triangle
	for i := range f {
		for j := i + 1; j < len(f); j++ {
			for k := j + 1; k < len(f); k++ {
				if t, ok := newTriangle(f[i], f[j], f[k]); ok {
					out = append(out, t)
				}
			}
		}
	}
	slices.SortStableFunc(out, func(a, b triangle) int { return cmp.Compare(a.flaw, b.flaw) })
	return out
}

// newTriangle checks sizes and angles: a code has 21 to 177 modules, so that the
// patterns' middles are 14 to 170 of them apart.
func newTriangle(a, b, c *detector.FinderPattern) (triangle, bool) {
	small := min(a.GetEstimatedModuleSize(), b.GetEstimatedModuleSize(), c.GetEstimatedModuleSize())
	large := max(a.GetEstimatedModuleSize(), b.GetEstimatedModuleSize(), c.GetEstimatedModuleSize())
	if small <= 0 || large > 1.6*small {
		return triangle{}, false
	}
	bottomLeft, topLeft, topRight := gozxing.ResultPoint_OrderBestPatterns(a, b, c)
	down, right := gozxing.ResultPoint_Distance(topLeft, bottomLeft), gozxing.ResultPoint_Distance(topLeft, topRight)
	diagonal := gozxing.ResultPoint_Distance(bottomLeft, topRight)
	module := (a.GetEstimatedModuleSize() + b.GetEstimatedModuleSize() + c.GetEstimatedModuleSize()) / 3
	if apart := (down + right) / 2 / module; apart < 10 || apart > 190 {
		return triangle{}, false
	}
	sides := math.Abs(down-right) / min(down, right)
	corner := math.Abs(diagonal-math.Hypot(down, right)) / diagonal
	if sides > 0.2 || corner > 0.15 {
		return triangle{}, false
	}
	return triangle{
		info: detector.NewFinderPatternInfo(bottomLeft.(*detector.FinderPattern), topLeft.(*detector.FinderPattern), topRight.(*detector.FinderPattern)),
		flaw: sides + corner + large/small - 1,
	}, true
}

// qrBox returns the box of a symbol. The library gives the centers of three finder
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

package barcode

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// readQR finds QR codes. Their error correction confirms a single read; what is
// found in several sizes of the picture counts once.
func readQR(ctx context.Context, levels []level) ([]Detection, error) {
	var out []Detection
	all := grids{}
	for _, l := range levels {
		found, err := findFinders(ctx, l)
		if err != nil {
			return nil, err
		}
		tried := 0
		for _, t := range triangles(found) {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if slices.ContainsFunc(out, func(d Detection) bool { return t.touches(d.Box, l.scale) }) {
				continue
			}
			d, near, ok := t.read(l, all)
			if ok {
				out = append(out, d)
			}
			if near {
				tried++
			}
			if tried > maxTriangles {
				break
			}
		}
	}
	return out, nil
}

// triangle is three finder patterns that may belong to one code.
type triangle struct {
	topLeft, topRight, bottomLeft finder
	module                        float64
	flaw                          float64 // how far it is from a corner of a square; 0 is none
}

// touches reports whether one of the patterns lies in a box of the picture. A
// pattern belongs to one code only.
func (t triangle) touches(b Box, scale int) bool {
	for _, f := range [3]finder{t.topLeft, t.topRight, t.bottomLeft} {
		x, y := int(f.at.x)*scale, int(f.at.y)*scale
		if x >= b.X && x <= b.X+b.Width && y >= b.Y && y <= b.Y+b.Height {
			return true
		}
	}
	return false
}

// A picture full of what looks like finder patterns must not keep the reader busy
// for hours. These bounds are far above what a picture of real codes has.
const (
	maxFinders   = 64 // those met most often
	maxTested    = 3000
	maxTriangles = 12 // those most like a corner of a square that have most of what a code has
)

// triangles returns the triples that can be codes, the best first.
func triangles(f []finder) []triangle {
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
	return out[:min(len(out), maxTested)]
}

// newTriangle checks sizes and angles: a code has 21 to 177 modules, so that the
// patterns' middles are 14 to 170 of them apart.
func newTriangle(a, b, c finder) (triangle, bool) {
	small, large := min(a.module, b.module, c.module), max(a.module, b.module, c.module)
	if large > 2*small || a.inverted != b.inverted || b.inverted != c.inverted {
		return triangle{}, false
	}
	// The pattern across from the longest side is at the corner.
	ab, bc, ca := a.at.to(b.at), b.at.to(c.at), c.at.to(a.at)
	switch max(ab, bc, ca) {
	case ab:
		a, c = c, a
	case ca:
		a, b = b, a
	}
	down, right, diagonal := a.at.to(b.at), a.at.to(c.at), b.at.to(c.at)
	// Seen from above the code, right and then down turn clockwise.
	if (c.at.x-a.at.x)*(b.at.y-a.at.y)-(c.at.y-a.at.y)*(b.at.x-a.at.x) < 0 {
		b, c, down, right = c, b, right, down
	}
	module := (a.module + b.module + c.module) / 3
	if apart := (down + right) / 2 / module; apart < 10 || apart > 190 {
		return triangle{}, false
	}
	sides := math.Abs(down-right) / min(down, right)
	corner := math.Abs(diagonal-math.Hypot(down, right)) / diagonal
	if sides > 0.7 || corner > 0.25 {
		return triangle{}, false
	}
	return triangle{topLeft: a, bottomLeft: b, topRight: c, module: module, flaw: sides + corner + large/small - 1}, true
}

// newQR is the detection of a text; elements says that it is a GS1 element string,
// which has FNC1 in the first position.
func newQR(text string, elements bool, box Box) Detection {
	d := Detection{Format: QR, Value: text, Confidence: 1, Box: box, Reads: 1}
	gtin, ok := linkGTIN(text)
	if !ok && elements {
		gtin, ok = elementGTIN(groupSeparator + text)
	}
	if ok {
		d.Value, d.Text = gtin, text
	}
	return d
}

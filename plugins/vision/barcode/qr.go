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
	check := new(line)
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
			if slices.ContainsFunc(out, func(d Detection) bool { return t.touches(d.Box, l.scale) }) || !t.timed(check, l.Gray) {
				continue
			}
			if tried++; tried > maxTriangles {
				break
			}
			if d, ok := t.read(l); ok {
				out = append(out, d)
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
	maxTriangles = 12 // those most like a corner of a square that have a timing pattern
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
	return out
}

// newTriangle checks sizes and angles: a code has 21 to 177 modules, so that the
// patterns' middles are 14 to 170 of them apart.
func newTriangle(a, b, c finder) (triangle, bool) {
	small, large := min(a.module, b.module, c.module), max(a.module, b.module, c.module)
	if large > 1.7*small || a.inverted != b.inverted || b.inverted != c.inverted {
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
	if sides > 0.4 || corner > 0.2 {
		return triangle{}, false
	}
	return triangle{topLeft: a, bottomLeft: b, topRight: c, module: module, flaw: sides + corner + large/small - 1}, true
}

// timed reports whether one of the timing patterns can be seen: modules in turn dark
// and light from pattern to pattern.
func (t triangle) timed(l *line, g *Gray) bool {
	for _, side := range [2][2]finder{{t.topRight, t.bottomLeft}, {t.bottomLeft, t.topRight}} {
		to, other := side[0].at, side[1].at
		length, across := t.topLeft.at.to(to), t.topLeft.at.to(other)
		dx, dy := (to.x-t.topLeft.at.x)/length, (to.y-t.topLeft.at.y)/length
		ox, oy := (other.x-t.topLeft.at.x)/across, (other.y-t.topLeft.at.y)/across
		for _, off := range [3]float64{3, 2.7, 3.3} {
			from := point{
				t.topLeft.at.x + off*t.topLeft.module*ox + 3*t.topLeft.module*dx,
				t.topLeft.at.y + off*t.topLeft.module*oy + 3*t.topLeft.module*dy,
			}
			n := length - 6*t.module
			end := point{from.x + n*dx, from.y + n*dy}
			if min(from.x, from.y, end.x, end.y) < 2 || max(from.x, end.x) > float64(g.Width-3) || max(from.y, end.y) > float64(g.Height-3) {
				continue
			}
			l.lookAlong(g, from, dx, dy, int(n/step))
			regular := 0
			for i := 1; i < len(l.edges); i++ {
				if w := (l.edges[i] - l.edges[i-1]) * step / t.module; w > 0.5 && w < 1.6 {
					regular++
				}
			}
			if want := n/t.module - 2; regular >= 4 && float64(regular) > 0.6*want && float64(len(l.edges)) < 1.5*want+4 {
				return true
			}
		}
	}
	return false
}

const (
	// perModule is how many pixels a module has in the patch that is decoded.
	perModule = 5
	// rim is what a patch shows around the patterns' middles, in modules, at the
	// sides and at the corner without a pattern.
	rim       = 8.0
	maxPatch  = (177 + 4*rim) * perModule
	farCorner = 1.2
)

// patch is a code turned upright, cut out of a level.
type patch struct {
	*Gray
	origin      point // of the level
	right, down point // what one pixel of the patch is in the level
}

// cut returns the patch of a triangle.
func (t triangle) cut(g *Gray) patch {
	width, height := t.topLeft.at.to(t.topRight.at)/t.module, t.topLeft.at.to(t.bottomLeft.at)/t.module
	unit := func(to point, modules float64) point {
		return point{(to.x - t.topLeft.at.x) / modules / perModule, (to.y - t.topLeft.at.y) / modules / perModule}
	}
	p := patch{right: unit(t.topRight.at, width), down: unit(t.bottomLeft.at, height)}
	p.origin = point{
		t.topLeft.at.x - rim*perModule*(p.right.x+p.down.x), t.topLeft.at.y - rim*perModule*(p.right.y+p.down.y),
	}
	p.Gray = &Gray{
		Width:  int(min((width*farCorner+2*rim)*perModule, maxPatch)),
		Height: int(min((height*farCorner+2*rim)*perModule, maxPatch)),
	}
	p.Pix = make([]byte, p.Width*p.Height)
	for y := range p.Height {
		for x := range p.Width {
			at := p.place(float64(x), float64(y))
			at.x = min(max(at.x, 0), float64(g.Width)-1.001)
			at.y = min(max(at.y, 0), float64(g.Height)-1.001)
			if g.Width > 1 && g.Height > 1 {
				p.Pix[y*p.Width+x] = byte(g.between(at.x, at.y) + 0.5)
			}
		}
	}
	return p
}

// place returns where in the level a place of the patch is.
func (p patch) place(x, y float64) point {
	return point{p.origin.x + x*p.right.x + y*p.down.x, p.origin.y + x*p.right.y + y*p.down.y}
}

// read decodes the code at a triangle.
func (t triangle) read(l level) (Detection, bool) {
	p := t.cut(l.Gray)
	if t.topLeft.inverted {
		for i := range p.Pix {
			p.Pix[i] = 255 - p.Pix[i]
		}
	}
	pattern := func(f point) *detector.FinderPattern { return detector.NewFinderPattern1(f.x, f.y, perModule) }
	corner := point{rim * perModule, rim * perModule}
	info := detector.NewFinderPatternInfo(
		pattern(point{corner.x, corner.y + t.topLeft.at.to(t.bottomLeft.at)/t.module*perModule}), pattern(corner),
		pattern(point{corner.x + t.topLeft.at.to(t.topRight.at)/t.module*perModule, corner.y}))
	for _, sharper := range [3]float64{0, 1.5, 4} {
		source, err := gozxing.NewPlanarYUVLuminanceSource(p.unsharp(sharper), p.Width, p.Height, 0, 0, p.Width, p.Height, false)
		if err != nil {
			panic(fmt.Sprintf("barcode: a patch of %d x %d pixels has %d bytes", p.Width, p.Height, len(p.Pix)))
		}
		matrix, err := gozxing.NewHybridBinarizer(source).GetBlackMatrix()
		if err != nil {
			return Detection{}, false // nothing but one shade
		}
		r, err := detector.NewDetector(matrix).ProcessFinderPatternInfo(info)
		if err != nil {
			continue
		}
		decoded, err := decoder.NewDecoder().Decode(r.GetBits(), nil)
		if err != nil || decoded.GetText() == "" {
			continue
		}
		d := Detection{Format: QR, Value: decoded.GetText(), Confidence: 1, Box: p.box(r, float64(l.scale)), Reads: 1}
		gtin, ok := linkGTIN(d.Value)
		if !ok && decoded.GetSymbologyModifier() > 2 { // FNC1 in the first position
			gtin, ok = elementGTIN(groupSeparator + d.Value)
		}
		if ok {
			d.Value, d.Text = gtin, d.Value
		}
		return d, true
	}
	return Detection{}, false
}

// unsharp returns the patch with its edges made stronger.
func (p patch) unsharp(amount float64) []byte {
	if amount == 0 {
		return p.Pix
	}
	const reach = perModule * 2 / 3
	soft := p.Gray
	for range 2 {
		soft = soft.box(reach)
	}
	out := make([]byte, len(p.Pix))
	for i, v := range p.Pix {
		out[i] = byte(min(max(float64(v)+amount*(float64(v)-float64(soft.Pix[i])), 0), 255))
	}
	return out
}

// box averages each pixel with its surroundings.
func (g *Gray) box(reach int) *Gray {
	mean := func(in, out []byte, n, stride int) {
		sum, count := 0, 0
		for i := range min(reach, n) {
			sum += int(in[i*stride])
			count++
		}
		for i := range n {
			if i+reach < n {
				sum += int(in[(i+reach)*stride])
				count++
			}
			if i > reach {
				sum -= int(in[(i-reach-1)*stride])
				count--
			}
			out[i*stride] = byte(sum / count)
		}
	}
	rows := &Gray{Width: g.Width, Height: g.Height, Pix: make([]byte, len(g.Pix))}
	for y := range g.Height {
		mean(g.Pix[y*g.Width:], rows.Pix[y*g.Width:], g.Width, 1)
	}
	out := &Gray{Width: g.Width, Height: g.Height, Pix: make([]byte, len(g.Pix))}
	for x := range g.Width {
		mean(rows.Pix[x:], out.Pix[x:], g.Height, g.Width)
	}
	return out
}

// box returns the box of a symbol in the picture. The library gives the middles of
// three finder patterns, which lie three and a half modules inside the corners.
func (p patch) box(r *common.DetectorResult, scale float64) Box {
	points := r.GetPoints()
	bottomLeft, topLeft, topRight := points[0], points[1], points[2]
	between := float64(r.GetBits().GetWidth() - 7) // modules from middle to middle
	right := point{(topRight.GetX() - topLeft.GetX()) / between, (topRight.GetY() - topLeft.GetY()) / between}
	down := point{(bottomLeft.GetX() - topLeft.GetX()) / between, (bottomLeft.GetY() - topLeft.GetY()) / between}
	var corners []point
	for _, at := range [][2]float64{{-3.5, -3.5}, {-3.5, between + 3.5}, {between + 3.5, -3.5}, {between + 3.5, between + 3.5}} {
		c := p.place(topLeft.GetX()+at[0]*right.x+at[1]*down.x, topLeft.GetY()+at[0]*right.y+at[1]*down.y)
		corners = append(corners, point{math.Round((c.x + 0.5) * scale), math.Round((c.y + 0.5) * scale)})
	}
	return bounds(corners)
}

package testphotos

import (
	"image"
	"image/color"
	"math"
	"math/rand/v2"

	"golang.org/x/image/font"
	"golang.org/x/image/font/basicfont"
	"golang.org/x/image/math/fixed"
)

// resolution is how many raster pixels a label has per module.
const resolution = 6

// look is how a label is printed.
type look struct {
	quiet    float64 // light space beside the code, in modules
	tall     float64 // height of linear bars, in modules
	ink      float64 // reflectance, 0 to 1
	paper    float64
	gain     float64 // by how much ink spreads over each edge, in modules
	inverted bool
	bearer   bool    // bars above and below, as on cartons
	plain    bool    // no print beside the code
	tight    bool    // the light space above and below is as narrow as that beside
	body     float64 // reflectance of the package around it; 0 takes any
}

// label is one side of a package: its code and what is printed around it, as
// reflectance. Its middle is the code's.
type label struct {
	width, height int
	values        []float32
}

// newLabel prints a code.
func newLabel(c Code, l look, random *rand.Rand) (*label, error) {
	bits, err := c.bits()
	if err != nil {
		return nil, err
	}
	columns, rows := float64(bits.GetWidth()), l.tall
	if c.Format == "qr" {
		rows = float64(bits.GetHeight())
	}
	side, above := 8+18*random.Float64(), 14+20*random.Float64()
	if l.plain {
		side, above = 4, 6
	}
	width, height := columns+2*(l.quiet+side), rows+2*above
	out := &label{width: int(width * resolution), height: int(height * resolution)}
	out.values = make([]float32, out.width*out.height)
	body := 0.1 + 0.6*random.Float64()
	if l.body > 0 {
		body = l.body
	}
	for i := range out.values {
		out.values[i] = float32(body)
	}
	if !l.plain {
		out.printText(random, body)
	}
	light, dark := l.paper, l.ink
	if l.inverted {
		light, dark = dark, light
	}
	// The field that the code stands on, with its digits below.
	if l.tight {
		out.fill(-columns/2-l.quiet, -rows/2-l.quiet, columns+2*l.quiet, rows+2*l.quiet, light)
	} else {
		out.fill(-columns/2-l.quiet, -rows/2-3, columns+2*l.quiet, rows+6+9, light)
	}
	if c.Format != "qr" && c.Format != "code128" && !l.tight {
		out.write(c.Text, -columns/2+2, rows/2+8, 0.72, dark)
	}
	for y := range bits.GetHeight() {
		for x := range bits.GetWidth() {
			if !bits.Get(x, y) {
				continue
			}
			if c.Format == "qr" {
				out.fill(float64(x)-columns/2-l.gain, float64(y)-rows/2-l.gain, 1+2*l.gain, 1+2*l.gain, dark)
				continue
			}
			out.fill(float64(x)-columns/2-l.gain, -rows/2, 1+2*l.gain, rows, dark)
		}
		if c.Format != "qr" {
			break
		}
	}
	if l.bearer {
		out.fill(-columns/2-l.quiet, -rows/2-3, columns+2*l.quiet, 3, dark)
		out.fill(-columns/2-l.quiet, rows/2, columns+2*l.quiet, 3, dark)
	}
	return out, nil
}

// fill fills a rectangle; positions are modules from the middle.
func (l *label) fill(x, y, width, height, value float64) {
	at := func(v float64, size int) int {
		return min(max(int(math.Round(v*resolution+float64(size)/2)), 0), size)
	}
	for row := at(y, l.height); row < at(y+height, l.height); row++ {
		for column := at(x, l.width); column < at(x+width, l.width); column++ {
			l.values[row*l.width+column] = float32(value)
		}
	}
}

// write writes text; its base line is at y. A glyph is 7 x 13 font pixels, each
// of scale modules.
func (l *label) write(text string, x, y, scale, value float64) {
	mask := image.NewAlpha(image.Rect(0, 0, 7*len(text), 16))
	d := font.Drawer{Dst: mask, Src: image.NewUniform(color.Opaque), Face: basicfont.Face7x13, Dot: fixed.P(0, 11)}
	d.DrawString(text)
	for v := range 16 {
		for u := range 7 * len(text) {
			if mask.AlphaAt(u, v).A > 0 {
				l.fill(x+float64(u)*scale, y+float64(v-11)*scale, scale, scale, value)
			}
		}
	}
}

// printText covers the package with words, rules and blocks.
func (l *label) printText(random *rand.Rand, body float64) {
	words := []string{"NET WT", "INGREDIENTS: WATER", "organic", "Best before see lid", "per 100 g", "IIIIII", "contains MILK", "||| |||| ||", "E 330", "made in a kitchen", "0,5 L", "4006"}
	width, height := float64(l.width)/resolution, float64(l.height)/resolution
	ink := body - 0.35
	if ink < 0.03 {
		ink = body + 0.4
	}
	for y := -height/2 + 6; y < height/2; y += 5 + 9*random.Float64() {
		scale := 0.4 + 0.8*random.Float64()
		for x := -width/2 + 3*random.Float64(); x < width/2; {
			word := words[random.IntN(len(words))]
			l.write(word, x, y, scale, ink)
			x += float64(len(word)+1) * 7 * scale
		}
	}
	for range 3 { // rules and blocks
		l.fill((random.Float64()-0.5)*width, (random.Float64()-0.5)*height, 20*random.Float64(), 1+5*random.Float64(), ink)
	}
}

// at returns the reflectance at a place in modules; ok is false beside the label.
func (l *label) at(u, v float64) (float64, bool) {
	x, y := int(math.Floor(u*resolution+float64(l.width)/2)), int(math.Floor(v*resolution+float64(l.height)/2))
	if x < 0 || y < 0 || x >= l.width || y >= l.height {
		return 0, false
	}
	return float64(l.values[y*l.width+x]), true
}

// near reports whether a place is on the label or within some modules of it.
func (l *label) near(u, v, margin float64) bool {
	return math.Abs(u) < float64(l.width)/resolution/2+margin && math.Abs(v) < float64(l.height)/resolution/2+margin
}

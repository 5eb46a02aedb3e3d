package barcode

import (
	"math"

	"github.com/makiuchi-d/gozxing"
	"github.com/makiuchi-d/gozxing/oned"
)

// line is the brightness along one line, and the edges between light and dark.
type line struct {
	values []float64
	sums   []float64 // sums[i] is that of values before i
	edges  []float64 // positions; light to dark and dark to light in turn
}

func newLine() *line { return &line{} }

const (
	// window is how far to either side a sample is compared with its surroundings.
	window = 40
	// contrast is how much darker than its surroundings a bar is, at least, of 255:
	// an even surface has no bars.
	contrast = 4
	// sharpen makes up for what sampling between pixels blurs.
	sharpen = 0.5
)

// sample reads n steps of the picture along a line, averaged across it.
func (l *line) sample(g *Gray, origin point, dx, dy float64, n int) {
	l.values = append(l.values[:0], make([]float64, n)...)
	for across := -(thickness - 1) / 2; across <= thickness/2; across++ {
		x, y := origin.x-float64(across)*dy, origin.y+float64(across)*dx
		for i := range l.values {
			l.values[i] += g.between(x, y)
			x += dx
			y += dy
		}
	}
	l.sums = append(l.sums[:0], 0)
	before := l.values[0]
	for i := 1; i+1 < n; i++ {
		v := l.values[i]
		l.values[i], before = v+sharpen*(2*v-before-l.values[i+1]), v
	}
	for i, v := range l.values {
		l.values[i] = v / thickness
		l.sums = append(l.sums, l.sums[i]+l.values[i])
	}
	l.findEdges()
}

// between returns the brightness between pixels. The caller stays inside.
func (g *Gray) between(x, y float64) float64 {
	ix, iy := int(x), int(y)
	fx, fy := x-float64(ix), y-float64(iy)
	at := iy*g.Width + ix
	top := float64(g.Pix[at])*(1-fx) + float64(g.Pix[at+1])*fx
	at += g.Width
	bottom := float64(g.Pix[at])*(1-fx) + float64(g.Pix[at+1])*fx
	return top*(1-fy) + bottom*fy
}

// findEdges finds where the line passes the mean of its surroundings, between
// samples. The line counts as light before its first sample.
func (l *line) findEdges() {
	l.edges = l.edges[:0]
	dark, before := false, 1.0
	for i, v := range l.values {
		from, to := max(i-window, 0), min(i+window+1, len(l.values))
		mean := (l.sums[to] - l.sums[from]) / float64(to-from)
		above := v - mean + contrast
		if (above < 0) != dark {
			dark = !dark
			part := 0.5
			if before != above {
				part = before / (before - above)
			}
			l.edges = append(l.edges, float64(i)-1+min(max(part, 0), 1))
		}
		before = above
	}
}

// hit is one code on a line; from and to are its first and last bar's outer
// edges, in steps, in the direction of reading.
type hit struct {
	format Format
	value  string
	from   float64
	to     float64
}

// symbology is what a window of edges must look like to be worth decoding.
type symbology struct {
	bars    int // bars and gaps, guards included
	modules float64
	reader  oned.RowDecoder
	format  Format
}

// lineDecoder reads codes from lines. It is for one goroutine at a time.
type lineDecoder struct {
	kinds []symbology
	row   *gozxing.BitArray
}

func newLineDecoder() *lineDecoder {
	return &lineDecoder{
		kinds: []symbology{
			{bars: 59, modules: 95, reader: oned.NewEAN13Reader().(oned.RowDecoder), format: EAN13},
			{bars: 43, modules: 67, reader: oned.NewEAN8Reader().(oned.RowDecoder), format: EAN8},
		},
		row: gozxing.NewBitArray(rowSize),
	}
}

const (
	// quiet is the light space that a code needs on both sides, in modules. The
	// standards ask for 7 to 11; pictures of real packages have less.
	quiet = 4.0
	// perModule is how finely a window is drawn for the decoder.
	perModule = 8
	margin    = 12 // modules of light drawn on both sides
	rowSize   = (95 + 2*margin) * perModule
)

// line returns all codes on a line, read in both directions.
func (d *lineDecoder) line(l *line) []hit {
	var out []hit
	for start := 0; start+1 < len(l.edges); start += 2 { // even edges go from light to dark
		for _, k := range d.kinds {
			end := start + k.bars
			if end >= len(l.edges)+0 || !d.plausible(l, start, end, k) {
				continue
			}
			if h, ok := d.decode(l.edges[start:end+1], k); ok {
				out = append(out, h)
			}
		}
	}
	return out
}

// plausible reports whether the edges from start to end can be the code's: guards
// at both ends that are as wide as their share, and light around.
func (d *lineDecoder) plausible(l *line, start, end int, k symbology) bool {
	e := l.edges
	module := (e[end] - e[start]) / k.modules
	if module < 0.9 {
		return false
	}
	for _, guard := range [2]float64{e[start+3] - e[start], e[end] - e[end-3]} {
		if guard < 1.5*module || guard > 4.5*module {
			return false
		}
	}
	before, after := e[start], float64(len(l.values))-e[end]
	if start > 0 {
		before = e[start] - e[start-1]
	}
	if end+1 < len(e) {
		after = e[end+1] - e[end]
	}
	return before >= quiet*module && after >= quiet*module
}

// decode draws a window and has the library read it, forwards and backwards.
func (d *lineDecoder) decode(edges []float64, k symbology) (hit, bool) {
	first, last := edges[0], edges[len(edges)-1]
	scale := k.modules * perModule / (last - first)
	for _, backwards := range []bool{false, true} {
		d.row.Clear()
		for i := 0; i+1 < len(edges); i += 2 {
			from, to := (edges[i]-first)*scale, (edges[i+1]-first)*scale
			if backwards {
				from, to = k.modules*perModule-to, k.modules*perModule-from
			}
			a, b := margin*perModule+int(math.Round(from)), margin*perModule+int(math.Round(to))
			if err := d.row.SetRange(a, b); err != nil {
				return hit{}, false
			}
		}
		result, err := k.reader.DecodeRow(0, d.row, nil)
		if err != nil {
			continue
		}
		h := hit{format: k.format, value: result.GetText(), from: first, to: last}
		if h.format == EAN13 && h.value[0] == '0' {
			h.format = UPCA
		}
		if backwards {
			h.from, h.to = h.to, h.from
		}
		return h, true
	}
	return hit{}, false
}

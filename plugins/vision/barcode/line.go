package barcode

import (
	"cmp"
	"math"
)

// line is the brightness along a line through the picture, and the edges between
// light and dark. It is reused from line to line.
type line struct {
	raw    []float64 // as sampled
	values []float64 // made sharper
	blurry []float64
	sums   []float64 // sums[i] is that of values before i
	turns  []turn
	edges  []float64 // positions, in samples; light to dark and dark to light in turn
	widths []float64
	cut    [2]bool // whether the picture ends before the first and after the last sample
}

// turn is where the brightness stops to rise or to fall.
type turn struct {
	at    int
	value float64
}

const (
	// step is the distance of samples, in pixels.
	step = 0.5
	// window is how far to either side a sample is compared with its surroundings,
	// in samples.
	window = 80
	// contrast is how much darker than its surroundings a bar is, at least, of 255:
	// an even surface has no bars.
	contrast = 3
)

// sample reads n samples along a line, each averaged over some pixels across it.
func (l *line) sample(g *Gray, origin point, dx, dy float64, n, thickness int) {
	l.raw = grow(l.raw, n)
	clear(l.raw)
	for i := range thickness {
		across := float64(i) - float64(thickness-1)/2
		x, y := origin.x-across*dy, origin.y+across*dx
		for i := range l.raw {
			l.raw[i] += g.between(x, y)
			x += step * dx
			y += step * dy
		}
	}
	for i := range l.raw {
		l.raw[i] /= float64(thickness)
	}
}

func grow(s []float64, n int) []float64 {
	if cap(s) < n {
		return make([]float64, n, n+n/2)
	}
	return s[:n]
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

// sharpening is one way to make up for blur: an assumed width of it, as a standard
// deviation in pixels, and how often what it takes away is put back.
type sharpening struct {
	sigma float64
	times int
}

// sharpen undoes blur step by step (Van Cittert's method): each step puts back the
// difference between the line and its estimate, blurred.
func (l *line) sharpen(s sharpening) {
	l.values = append(l.values[:0], l.raw...)
	// Two boxes of this width blur as a bell of sigma does, nearly.
	sigma := s.sigma / step
	reach := int(math.Round((math.Sqrt(6*sigma*sigma+1) - 1) / 2))
	for range s.times {
		l.sumUp(l.values)
		l.blurry = l.box(l.blurry, reach)
		l.sumUp(l.blurry)
		l.blurry = l.box(l.blurry, reach)
		for i := range l.values {
			l.values[i] += l.raw[i] - l.blurry[i]
		}
	}
}

// sumUp makes sums those of values.
func (l *line) sumUp(values []float64) {
	l.sums = grow(l.sums, len(values)+1)
	sum := 0.0
	for i, v := range values {
		l.sums[i] = sum
		sum += v
	}
	l.sums[len(values)] = sum
}

// box returns the mean of each value's surroundings, from their sums.
func (l *line) box(out []float64, reach int) []float64 {
	n := len(l.sums) - 1
	out = grow(out, n)
	for i := range out {
		from, to := max(i-reach, 0), min(i+reach+1, n)
		out[i] = (l.sums[to] - l.sums[from]) / float64(to-from)
	}
	return out
}

// findCrossings finds where the line passes the mean of its surroundings, between
// samples. The line counts as light before its first sample.
func (l *line) findCrossings() {
	l.sumUp(l.values)
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

// findSlopes finds edges half-way between a place where the brightness stops to
// rise and the next where it stops to fall. So narrow bars that blur has made pale
// are found, too. Changes that are small beside those around them count as noise.
// The line counts as light before its first sample.
func (l *line) findSlopes() {
	l.findTurns()
	l.edges = l.edges[:0]
	for i := 0; i+1 < len(l.turns); i++ {
		a, b := l.turns[i], l.turns[i+1]
		if len(l.edges) == 0 && b.value > a.value {
			l.edges = append(l.edges, 0) // it begins dark
		}
		half := (a.value + b.value) / 2
		for k := a.at; k < b.at; k++ {
			v, w := l.values[k]-half, l.values[k+1]-half
			if v != w && (v <= 0) != (w <= 0) {
				l.edges = append(l.edges, float64(k)+v/(v-w))
				break
			}
		}
	}
}

const (
	// noiseShare is the share of the largest change nearby that a change must have.
	noiseShare = 0.14
	// nearby is how far the largest change is looked for, in samples.
	nearby = 48
)

// findTurns collects the extremes of the line, light and dark in turn.
func (l *line) findTurns() {
	l.turns = l.turns[:0]
	rising := 0 // 1 and -1 are up and down, 0 is not known yet
	for i := 1; i < len(l.values); i++ {
		way := cmp.Compare(l.values[i], l.values[i-1])
		if way == 0 || way == rising {
			continue
		}
		if rising != 0 {
			l.turns = append(l.turns, turn{i - 1, l.values[i-1]})
		}
		rising = way
	}
	// Take out the smallest changes, until all are large beside their surroundings.
	for changed := true; changed; {
		changed = false
		kept := l.turns[:0]
		t := l.turns
		for i := 0; i < len(t); i++ {
			if i > 0 && i+1 < len(t) && len(kept) > 0 && i+2 < len(t) {
				size := math.Abs(t[i+1].value - t[i].value)
				if size <= math.Abs(t[i].value-kept[len(kept)-1].value) && size <= math.Abs(t[i+2].value-t[i+1].value) && size < least(kept, t[i:]) {
					i++ // both ends of the change go
					changed = true
					continue
				}
			}
			kept = append(kept, t[i])
		}
		l.turns = kept
	}
}

// least returns how large the change between the first two of the turns after must
// be, considering those before, too.
func least(before, after []turn) float64 {
	here := after[0]
	lo, hi := here.value, here.value
	for k := len(before) - 1; k >= 0 && here.at-before[k].at < nearby; k-- {
		lo, hi = min(lo, before[k].value), max(hi, before[k].value)
	}
	for k := 1; k < len(after) && after[k].at-here.at < nearby; k++ {
		lo, hi = min(lo, after[k].value), max(hi, after[k].value)
	}
	return max(noiseShare*(hi-lo), 2*contrast)
}

package barcode

import "math"

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

// sharpening is one way to make up for blur: an assumed width of it, in pixels, and
// how many times what it took away is put back.
type sharpening struct {
	sigma float64
	times int
}

// sharpen undoes blur step by step (Van Cittert's method): each step puts back the
// difference between the line and its estimate, blurred.
func (l *line) sharpen(s sharpening) {
	l.values = append(l.values[:0], l.raw...)
	if s.times == 0 {
		return
	}
	sigma := s.sigma / step
	reach := int(math.Ceil(2.5 * sigma))
	kernel := make([]float64, reach+1)
	sum := 0.0
	for i := range kernel {
		kernel[i] = math.Exp(-float64(i*i) / (2 * sigma * sigma))
		sum += kernel[i]
		if i > 0 {
			sum += kernel[i]
		}
	}
	for i := range kernel {
		kernel[i] /= sum
	}
	n := len(l.values)
	l.blurry = grow(l.blurry, n)
	for range s.times {
		for i := range l.blurry {
			v := kernel[0] * l.values[i]
			if i >= reach && i+reach < n {
				for k := 1; k <= reach; k++ {
					v += kernel[k] * (l.values[i-k] + l.values[i+k])
				}
			} else {
				for k := 1; k <= reach; k++ {
					v += kernel[k] * (l.values[max(i-k, 0)] + l.values[min(i+k, n-1)])
				}
			}
			l.blurry[i] = v
		}
		for i := range l.values {
			l.values[i] += l.raw[i] - l.blurry[i]
		}
	}
}

// findCrossings finds where the line passes the mean of its surroundings, between
// samples. The line counts as light before its first sample.
func (l *line) findCrossings() {
	l.sums = append(l.sums[:0], 0)
	for i, v := range l.values {
		l.sums = append(l.sums, l.sums[i]+v)
	}
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
func (l *line) findSlopes() {
	l.findTurns()
	l.edges = l.edges[:0]
	for i := 0; i+1 < len(l.turns); i++ {
		a, b := l.turns[i], l.turns[i+1]
		if len(l.edges) == 0 && b.value > a.value {
			continue // the first edge is from light to dark
		}
		half := (a.value + b.value) / 2
		for k := a.at; k < b.at; k++ {
			v, w := l.values[k]-half, l.values[k+1]-half
			if v == 0 || (v < 0) != (w < 0) {
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
	v := l.values
	for i := 1; i+1 < len(v); i++ {
		if (v[i] > v[i-1]) != (v[i+1] > v[i]) && v[i] != v[i-1] {
			l.turns = append(l.turns, turn{i, v[i]})
		}
	}
	// Take out the smallest changes, until all are large beside their surroundings.
	for changed := true; changed; {
		changed = false
		kept := l.turns[:0]
		t := l.turns
		for i := 0; i < len(t); i++ {
			if i > 0 && i+1 < len(t) && len(kept) > 0 && i+2 < len(t) {
				size := math.Abs(t[i+1].value - t[i].value)
				if size <= math.Abs(t[i].value-kept[len(kept)-1].value) && size <= math.Abs(t[i+2].value-t[i+1].value) && size < l.least(t, i) {
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

// least returns how large a change after turn i must be.
func (l *line) least(t []turn, i int) float64 {
	lo, hi := t[i].value, t[i].value
	for k := i - 1; k >= 0 && t[i].at-t[k].at < nearby; k-- {
		lo, hi = min(lo, t[k].value), max(hi, t[k].value)
	}
	for k := i + 1; k < len(t) && t[k].at-t[i].at < nearby; k++ {
		lo, hi = min(lo, t[k].value), max(hi, t[k].value)
	}
	return max(noiseShare*(hi-lo), 2*contrast)
}

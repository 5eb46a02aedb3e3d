package barcode

import (
	"cmp"
	"context"
	"iter"
	"math"
	"slices"
)

// finder is one of the three patterns in the corners of a QR code: every line
// through its middle meets dark, light, dark, light and dark as 1:1:3:1:1.
type finder struct {
	at       point // of the level
	module   float64
	count    int // how often it was met
	inverted bool
}

// same reports whether two sightings are of one pattern.
func (f finder) same(o finder) bool {
	return f.inverted == o.inverted && math.Abs(f.at.x-o.at.x) < 2.5*f.module && math.Abs(f.at.y-o.at.y) < 2.5*f.module
}

const (
	// maxCandidates bounds the patterns of a band that are looked at on the way.
	maxCandidates = 300
	// bands is how many parts a level is searched in; the result depends on it, so
	// that it is the same on all machines.
	bands = 8
	// minTexture is the mean square of the gradient that a QR code has at least.
	minTexture = 150
)

// findFinders returns the finder patterns of a level, those met most often first.
func findFinders(ctx context.Context, l level) ([]finder, error) {
	var parts [bands][]finder
	inParallel(bands, func(next func() (int, bool)) {
		search, check := new(line), new(line)
		for band, ok := next(); ok; band, ok = next() {
			rows := (l.Height + bands - 1) / bands
			parts[band] = findersBetween(ctx, l, band*rows, (band+1)*rows, search, check)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	found := parts[0]
	for _, part := range parts[1:] {
		for _, f := range part {
			if at := slices.IndexFunc(found, f.same); at >= 0 {
				found[at].merge(f)
			} else {
				found = append(found, f)
			}
		}
	}
	slices.SortStableFunc(found, func(a, b finder) int { return -cmp.Compare(a.count, b.count) })
	return found[:min(len(found), maxFinders)], nil
}

// findersBetween looks along the rows of a band, where there is any texture.
func findersBetween(ctx context.Context, l level, top, bottom int, search, check *line) []finder {
	var found []finder
	for y := max(top, 2); y < min(bottom, l.Height-3); y++ {
		if ctx.Err() != nil {
			return nil
		}
		for from, to := range l.field.textured(y / cell) {
			x := float64(max(from*cell, 1))
			search.lookAlong(l.Gray, point{x, float64(y)}, 1, 0, int((min(float64(to*cell), float64(l.Width-3))-x)/step))
			for i := range search.edges {
				at, module, ok := search.finderAt(i)
				if !ok || len(found) >= maxCandidates {
					continue
				}
				f := finder{at: point{x + at*step, float64(y) + 0.5}, module: module * step, count: 1, inverted: i%2 == 1}
				if known := slices.IndexFunc(found, f.same); known >= 0 && found[known].count > 2 {
					found[known].count++ // confirmed before
					continue
				}
				if !f.likely(l.Gray) || !f.confirm(check, l.Gray) {
					continue
				}
				if known := slices.IndexFunc(found, f.same); known >= 0 {
					found[known].merge(f)
				} else {
					found = append(found, f)
				}
			}
		}
	}
	return found
}

// textured returns the runs of cells in a row, from and to, that have texture in
// them or beside them.
func (f *field) textured(row int) iter.Seq2[int, int] {
	return func(yield func(int, int) bool) {
		if row >= f.rows {
			row = f.rows - 1
		}
		from, last := -1, 0
		for x := range f.columns {
			if row >= 0 && f.energy[row*f.columns+x] > minTexture*cell*cell {
				if from < 0 {
					from = x
				}
				last = x
			} else if from >= 0 && x > last+2 {
				if !yield(max(from-2, 0), x) {
					return
				}
				from = -1
			}
		}
		if from >= 0 {
			yield(max(from-2, 0), f.columns+1)
		}
	}
}

// merge averages two sightings.
func (f *finder) merge(o finder) {
	share := float64(o.count) / float64(f.count+o.count)
	f.at.x += (o.at.x - f.at.x) * share
	f.at.y += (o.at.y - f.at.y) * share
	f.module += (o.module - f.module) * share
	f.count += o.count
}

// likely reports whether the core and the ring around it are as far up and down as to the
// sides. Bars, which are most of what looks like the pattern along a row, are not.
func (f *finder) likely(g *Gray) bool {
	at := func(dx, dy float64) float64 { return g.clamped(point{f.at.x + dx*f.module, f.at.y + dy*f.module}) }
	core, along := (at(0, 0)+at(0.7, 0)+at(-0.7, 0))/3, (at(2, 0)+at(-2, 0))/2
	upright := (at(0, -2) + at(0, 2) + at(0.7, -2) + at(0.7, 2) + at(-0.7, -2) + at(-0.7, 2)) / 6
	if f.inverted {
		return upright < (core+along)/2
	}
	return upright > (core+along)/2
}

// confirm looks for the pattern along the column and the row through its middle,
// and moves it there.
func (f *finder) confirm(l *line, g *Gray) bool {
	wide := f.module
	for _, along := range [2]point{{0, 1}, {1, 0}} {
		reach := 9 * f.module
		from := point{f.at.x - reach*along.x, f.at.y - reach*along.y}
		from = point{max(from.x, 1), max(from.y, 1)}
		length := 2 * reach
		if along.x > 0 {
			length = min(length, float64(g.Width)-3-from.x)
		} else {
			length = min(length, float64(g.Height)-3-from.y)
		}
		if length < 7*f.module || from.x > float64(g.Width-3) || from.y > float64(g.Height-3) {
			return false
		}
		l.lookAlong(g, from, along.x, along.y, int(length/step))
		best, module, ok := 0.0, 0.0, false
		middle := ((f.at.x-from.x)*along.x + (f.at.y-from.y)*along.y) / step
		for i := range l.edges {
			at, m, is := l.finderAt(i)
			if is && (i%2 == 1) == f.inverted && math.Abs(at-middle) < 1.6*f.module/step && (!ok || math.Abs(at-middle) < math.Abs(best-middle)) {
				best, module, ok = at, m*step, true
			}
		}
		if !ok || module < wide/1.7 || module > wide*1.7 {
			return false
		}
		f.at = point{f.at.x + (best-middle)*step*along.x, f.at.y + (best-middle)*step*along.y}
		f.module = (f.module + module) / 2
	}
	return f.onDiagonals(l, g)
}

// onDiagonals looks for the pattern along both diagonals, which print and the bars
// of linear codes do not have.
func (f *finder) onDiagonals(l *line, g *Gray) bool {
	const half = math.Sqrt2 / 2
	reach := 8 * f.module
	for _, along := range [2]point{{half, half}, {half, -half}} {
		from := point{f.at.x - reach*along.x, f.at.y - reach*along.y}
		to := point{f.at.x + reach*along.x, f.at.y + reach*along.y}
		if min(from.x, from.y, to.y) < 1 || to.x > float64(g.Width-3) || max(from.y, to.y) > float64(g.Height-3) {
			continue // at the picture's rim
		}
		l.lookAlong(g, from, along.x, along.y, int(2*reach/step))
		ok := false
		for i := range l.edges {
			at, m, is := l.finderAt(i)
			ok = ok || is && (i%2 == 1) == f.inverted && math.Abs(at-reach/step) < 1.6*f.module/step && m*step > f.module/1.8 && m*step < 1.8*f.module
		}
		if !ok {
			return false
		}
	}
	return true
}

// lookAlong finds the edges along a row or a column of the picture.
func (l *line) lookAlong(g *Gray, from point, dx, dy float64, n int) {
	l.edges = l.edges[:0]
	if n < 16 {
		return
	}
	l.sample(g, from, dx, dy, n, 1)
	l.values = append(l.values[:0], l.raw...)
	l.findSlopes()
}

// finderAt reports whether a finder pattern begins at an edge, and where its middle
// is, in samples. From an odd edge it is one of light on dark.
func (l *line) finderAt(i int) (middle, module float64, ok bool) {
	if i+5 >= len(l.edges) {
		return l.openFinderAt(i)
	}
	e := l.edges[i : i+6]
	module = (e[5] - e[0]) / 7
	if module < 1/step {
		return 0, 0, false
	}
	// From an edge to the next of the same kind is what ink and light do not change.
	for k, want := range [4]float64{2, 4, 4, 2} {
		if d := (e[k+2]-e[k])/module - want; math.Abs(d) > 0.4*want {
			return l.openFinderAt(i)
		}
	}
	if inner := (e[3] - e[2]) / module; inner < 1.7 || inner > 4.5 {
		return 0, 0, false
	}
	return (e[2] + e[3]) / 2, module, true
}

// openFinderAt is finderAt for a pattern whose outer ring cannot be told from what is
// around it, or ends where the picture does: the rest of it is 1:3:1.
func (l *line) openFinderAt(i int) (middle, module float64, ok bool) {
	if i+4 >= len(l.edges) {
		return 0, 0, false
	}
	e := l.edges[i : i+5]
	after := float64(len(l.values))
	if i+5 < len(l.edges) {
		after = l.edges[i+5]
	}
	module = (e[4] - e[1]) / 5
	if module < 1/step || e[1]-e[0] < 0.5*module || after-e[4] < 0.5*module {
		return 0, 0, false
	}
	for k := 1; k < 3; k++ {
		if d := (e[k+2]-e[k])/module - 4; math.Abs(d) > 1 {
			return 0, 0, false
		}
	}
	if inner := (e[3] - e[2]) / module; inner < 1.9 || inner > 4.1 {
		return 0, 0, false
	}
	return (e[2] + e[3]) / 2, module, true
}

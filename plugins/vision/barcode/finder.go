package barcode

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// finder is one of the three patterns in the corners of a QR code: every line
// through its middle meets dark, light, dark, light and dark as 1:1:3:1:1.
type finder struct {
	at     point // of the level
	module float64
	count  int // how often it was met
}

// maxCandidates bounds the patterns of a level that are looked at on the way.
const maxCandidates = 2000

// findFinders returns the finder patterns of a level, those met most often first.
func findFinders(ctx context.Context, l level, inverted bool) ([]finder, error) {
	var found []finder
	search, check := new(line), new(line)
	g := l.Gray
	const rows = 2
	for y := 2; y < g.Height-3 && len(found) < maxCandidates; y += rows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		search.lookAlong(g, point{1, float64(y)}, 1, 0, int(float64(g.Width-4)/step))
		for i := range search.edges {
			x, module, ok := search.finderAt(i, inverted)
			if !ok {
				continue
			}
			f := finder{at: point{1 + x*step, float64(y) + 0.5}, module: module * step}
			if at := slices.IndexFunc(found, func(o finder) bool { return o.at.to(f.at) < 3*o.module }); at >= 0 && found[at].count > 2 {
				found[at].count++ // confirmed before
				continue
			}
			if !f.confirm(check, g, inverted) {
				continue
			}
			at := slices.IndexFunc(found, func(o finder) bool { return o.at.to(f.at) < 3*o.module })
			if at < 0 {
				f.count = 1
				found = append(found, f)
				continue
			}
			found[at].merge(f)
		}
	}
	found = slices.DeleteFunc(found, func(f finder) bool { return f.count < 2 })
	slices.SortStableFunc(found, func(a, b finder) int { return -cmp.Compare(a.count, b.count) })
	return found[:min(len(found), maxFinders)], nil
}

// merge averages two sightings.
func (f *finder) merge(o finder) {
	n := float64(f.count)
	f.at.x = (f.at.x*n + o.at.x) / (n + 1)
	f.at.y = (f.at.y*n + o.at.y) / (n + 1)
	f.module = (f.module*n + o.module) / (n + 1)
	f.count++
}

// confirm looks for the pattern along the column and the row through its middle,
// and moves it there.
func (f *finder) confirm(l *line, g *Gray, inverted bool) bool {
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
			at, m, is := l.finderAt(i, inverted)
			if is && math.Abs(at-middle) < 1.6*f.module/step && (!ok || math.Abs(at-middle) < math.Abs(best-middle)) {
				best, module, ok = at, m*step, true
			}
		}
		if !ok || module < wide/1.7 || module > wide*1.7 {
			return false
		}
		f.at = point{f.at.x + (best-middle)*step*along.x, f.at.y + (best-middle)*step*along.y}
		f.module = (f.module + module) / 2
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
// is, in samples.
func (l *line) finderAt(i int, inverted bool) (middle, module float64, ok bool) {
	if (i%2 == 1) != inverted || i+5 >= len(l.edges) {
		return 0, 0, false
	}
	e := l.edges[i : i+6]
	module = (e[5] - e[0]) / 7
	if module < 1/step {
		return 0, 0, false
	}
	// From an edge to the next of the same kind is what ink and light do not change.
	for k, want := range [4]float64{2, 4, 4, 2} {
		if d := (e[k+2]-e[k])/module - want; math.Abs(d) > 0.4*want {
			return 0, 0, false
		}
	}
	if inner := (e[3] - e[2]) / module; inner < 1.7 || inner > 4.5 {
		return 0, 0, false
	}
	return (e[2] + e[3]) / 2, module, true
}

package barcode

import (
	"context"
	"math"
	"runtime"
	"sync"
	"sync/atomic"
)

// read is one line's crossing of one code.
type read struct {
	format Format
	value  string
	text   string
	from   point // of the picture
	to     point
	fit    float64
}

func (r read) middle() point { return point{(r.from.x + r.to.x) / 2, (r.from.y + r.to.y) / 2} }

func (r read) length() float64 { return r.from.to(r.to) }

// pass is one way to read the lines of a region.
type pass struct {
	angle     float64 // added to the region's direction, in radians
	thickness int     // how many neighbouring pixels a line averages
	lines     int     // of a region, at most
	sharpness []sharpening
	pale      bool // for pale regions alone
}

const (
	// margin is by how much lines are longer than the region, on both sides: its
	// share, and pixels.
	marginShare  = 0.12
	marginPixels = 20
)

// job is a region to read in one way.
type job struct {
	level  level
	region region
	pass   pass
}

// scan reads along the lines of all jobs. The order of the reads does not depend on
// scheduling.
func scan(ctx context.Context, jobs []job) ([]read, error) {
	results := make([][]read, len(jobs))
	inParallel(len(jobs), func(next func() (int, bool)) {
		l := new(line)
		for i, ok := next(); ok; i, ok = next() {
			results[i] = jobs[i].read(ctx, l)
		}
	})
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var all []read
	for _, r := range results {
		all = append(all, r...)
	}
	return all, nil
}

// inParallel runs work on all processors; next hands out the numbers below n.
func inParallel(n int, work func(next func() (int, bool))) {
	var taken atomic.Int64
	next := func() (int, bool) {
		i := int(taken.Add(1)) - 1
		return i, i < n
	}
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), n) {
		workers.Go(func() { work(next) })
	}
	workers.Wait()
}

// read reads along all lines of the job. A line gives one read for each code on it,
// however many sharpenings show that code.
func (j job) read(ctx context.Context, l *line) []read {
	g, r := j.level.Gray, j.region
	sin, cos := math.Sincos(math.Atan2(r.sin, r.cos) + j.pass.angle)
	long := r.long*(1+marginShare) + marginPixels
	gap := max(float64(j.pass.thickness), 2*r.across/float64(j.pass.lines))
	var out []read
	var hits []hit
	for offset := -r.across + gap/2; offset < r.across; offset += gap {
		if ctx.Err() != nil {
			return nil
		}
		p := point{r.middle.x - offset*sin, r.middle.y + offset*cos}
		origin, n, cut := clipLine(g, p, cos, sin, long, j.pass.thickness)
		if n < minSamples {
			continue
		}
		l.sample(g, origin, cos, sin, n, j.pass.thickness)
		l.cut = cut
		hits = hits[:0]
		for _, s := range j.pass.sharpness {
			l.sharpen(s)
			l.findCrossings()
			hits = l.decode(hits)
			l.findSlopes()
			hits = l.decode(hits)
		}
		for _, h := range best(hits) {
			at := func(s float64) point {
				scale := float64(j.level.scale)
				return point{(origin.x + s*step*cos + 0.5) * scale, (origin.y + s*step*sin + 0.5) * scale}
			}
			out = append(out, read{format: h.format, value: h.value, text: h.text, from: at(h.from), to: at(h.to), fit: h.fit})
		}
	}
	return out
}

// best keeps, of the hits over each place of a line, the one that fits best.
func best(hits []hit) []hit {
	var out []hit
	for _, h := range hits {
		at := -1
		for i, o := range out {
			if min(h.from, h.to) < max(o.from, o.to) && min(o.from, o.to) < max(h.from, h.to) {
				at = i
			}
		}
		switch {
		case at < 0:
			out = append(out, h)
		case h.fit < out[at].fit:
			out[at] = h
		}
	}
	return out
}

// minSamples is fewer than the narrowest code that can be read.
const minSamples = minLength / step

// clipLine returns the first point of a line through p that is inside the picture
// and at most long from p, how many samples it stays so, and which of its ends are those of
// the picture.
func clipLine(g *Gray, p point, dx, dy, long float64, thickness int) (start point, n int, cut [2]bool) {
	from, to := -long, long
	for _, axis := range [2]struct{ at, step, across, size float64 }{{p.x, dx, dy, float64(g.Width)}, {p.y, dy, dx, float64(g.Height)}} {
		margin := math.Abs(axis.across)*float64(thickness)/2 + 1 // keeps all neighbours of all samples inside
		lo, hi := margin, axis.size-1-margin
		if math.Abs(axis.step) < 1e-9 {
			if axis.at < lo || axis.at > hi {
				return p, 0, cut
			}
			continue
		}
		a, b := (lo-axis.at)/axis.step, (hi-axis.at)/axis.step
		from, to = max(from, min(a, b)), min(to, max(a, b))
	}
	if to <= from {
		return p, 0, cut
	}
	return point{p.x + from*dx, p.y + from*dy}, int((to - from) / step), [2]bool{from > -long, to < long}
}

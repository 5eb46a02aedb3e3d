package barcode

import (
	"context"
	"math"
	"runtime"
	"sync"
)

const (
	// directions over half a turn. Bars of ordinary height are crossed whole by
	// lines up to some 20 degrees off, so that each code is met several times.
	directions = 12
	// thickness is how many neighbouring rows of pixels one line averages, and the
	// distance of lines: no pixel row counts in two lines of a direction.
	thickness = 3
)

// read is one line's crossing of one code.
type read struct {
	format Format
	value  string
	from   point // of the picture
	to     point
}

func (r read) middle() point { return point{(r.from.x + r.to.x) / 2, (r.from.y + r.to.y) / 2} }

func (r read) length() float64 { return r.from.to(r.to) }

// scan reads along all lines of all levels. The order of the reads does not
// depend on scheduling.
func scan(ctx context.Context, levels []level) ([]read, error) {
	type job struct {
		level level
		angle float64
	}
	var jobs []job
	for _, l := range levels {
		for d := range directions {
			jobs = append(jobs, job{l, float64(d) * math.Pi / directions})
		}
	}
	results := make([][]read, len(jobs))
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(jobs)) {
		workers.Go(func() {
			decode := newLineDecoder()
			for i := range next {
				results[i] = sweep(ctx, jobs[i].level, jobs[i].angle, decode)
			}
		})
	}
	for i := range jobs {
		next <- i
	}
	close(next)
	workers.Wait()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var all []read
	for _, r := range results {
		all = append(all, r...)
	}
	return all, nil
}

// sweep reads along all parallel lines of one direction.
func sweep(ctx context.Context, l level, angle float64, decode *lineDecoder) []read {
	sin, cos := math.Sincos(angle)
	center := point{float64(l.Width-1) / 2, float64(l.Height-1) / 2}
	// The lines cover the picture's shadow across their direction.
	reach := (math.Abs(sin)*float64(l.Width) + math.Abs(cos)*float64(l.Height)) / 2
	var out []read
	line := newLine()
	for offset := -reach + thickness/2.0; offset < reach; offset += thickness {
		if ctx.Err() != nil {
			return nil
		}
		origin, n := clipLine(l.Gray, point{center.x - offset*sin, center.y + offset*cos}, cos, sin)
		if n < minSamples {
			continue
		}
		line.sample(l.Gray, origin, cos, sin, n)
		for _, h := range decode.line(line) {
			at := func(s float64) point {
				scale := float64(l.scale)
				return point{(origin.x + s*cos + 0.5) * scale, (origin.y + s*sin + 0.5) * scale}
			}
			out = append(out, read{format: h.format, value: h.value, from: at(h.from), to: at(h.to)})
		}
	}
	return out
}

// minSamples is fewer than the narrowest code that can be read.
const minSamples = 80

// clipLine returns the first point inside the picture of a line through p, and how
// many steps of one pixel it stays inside.
func clipLine(g *Gray, p point, dx, dy float64) (point, int) {
	const margin = thickness // keeps all neighbours of all samples inside
	from, to := math.Inf(-1), math.Inf(1)
	for _, axis := range [2]struct{ at, step, size float64 }{{p.x, dx, float64(g.Width)}, {p.y, dy, float64(g.Height)}} {
		lo, hi := float64(margin), axis.size-1-margin
		if math.Abs(axis.step) < 1e-9 {
			if axis.at < lo || axis.at > hi {
				return p, 0
			}
			continue
		}
		a, b := (lo-axis.at)/axis.step, (hi-axis.at)/axis.step
		from, to = max(from, min(a, b)), min(to, max(a, b))
	}
	if to <= from {
		return p, 0
	}
	return point{p.x + from*dx, p.y + from*dy}, int(to - from)
}
